! triangular.f90 - solves a lower triangular system by columns, for dcpiloc --exact
!
! triangular [ROUNDS]
program triangular
  implicit none
  integer, parameter :: n = 300
  double precision :: l(n, n), b(n), x(n)
  integer :: i, j, rounds
  character(len=16) :: argument
  call get_command_argument(1, argument)
  rounds = 6
  if (argument /= '') read (argument, *) rounds
  do j = 1, n
    do i = 1, n
      l(i, j) = 1d0 / (i + j)
    end do
    l(j, j) = 2d0
    b(j) = j
  end do
  do i = 1, rounds
    call solve(n, l, b, x)
    b = b + x
  end do
  print '(es12.5)', sum(x)
contains
  subroutine solve(n, l, b, x)
    integer, intent(in) :: n
    double precision, intent(in) :: l(n, n), b(n)
    double precision, intent(out) :: x(n)
    integer :: i, j
    do i = 1, n
      x(i) = b(i)
    end do
    do j = 1, n
      x(j) = x(j) / l(j, j)
      do i = j + 1, n
        x(i) = x(i) - x(j) * l(i, j)
      end do
    end do
  end subroutine
end program
