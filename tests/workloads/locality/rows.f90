! rows.f90 - a matrix is summed along its rows, which Fortran keeps by columns: as it is, and with its loops interchanged
!
! rows rows|rows-remedied SIZE ROUNDS
program main
  implicit none
  character(len=32) :: kernel, number
  integer :: count, rounds, i
  real(8), allocatable :: matrix(:, :)
  real(8) :: total

  call get_command_argument(1, kernel)
  call get_command_argument(2, number)
  read (number, *) count
  call get_command_argument(3, number)
  read (number, *) rounds
  allocate (matrix(count, count))
  matrix = 0
  matrix(2, 3) = 5
  total = 0
  do i = 1, rounds
    if (kernel == 'rows') then
      call rows(matrix, count, total)
    else
      call rows_remedied(matrix, count, total)
    end if
  end do
  print *, total

contains

  subroutine rows(matrix, count, total)
    integer, intent(in) :: count
    real(8), intent(in) :: matrix(count, count)
    real(8), intent(inout) :: total
    integer :: i, j

    do i = 1, count
      do j = 1, count
        total = total + matrix(i, j)
      end do
    end do
  end subroutine rows

  subroutine rows_remedied(matrix, count, total)
    integer, intent(in) :: count
    real(8), intent(in) :: matrix(count, count)
    real(8), intent(inout) :: total
    integer :: i, j

    do j = 1, count
      do i = 1, count
        total = total + matrix(i, j)
      end do
    end do
  end subroutine rows_remedied
end program main
