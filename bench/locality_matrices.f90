! locality_matrices.f90 - matrices of some hundred rows for LAPACK: dgemm, dgesv or dsyev, for bench/locality_packages
program matrices
  implicit none
  character(len=16) :: which
  integer :: info, round
  integer(kind=8) :: seed
  integer, parameter :: n = 400
  integer :: pivots(n)
  double precision :: a(n, n), b(n, n), c(n, n), work(64 * n), values(n), sum

  call get_command_argument(1, which)
  seed = 1
  sum = 0
  select case (which)
  case ('dgemm')
    call fill(a)
    call fill(b)
    do round = 1, 50
      call dgemm('N', 'N', n, n, n, 1d0, a, n, b, n, 0d0, c, n)
      sum = sum + c(round, n)
    end do
  case ('dgesv')
    do round = 1, 30
      call fill(a)
      call fill(b)
      call dgesv(n, n, a, n, pivots, b, n, info)
      sum = sum + b(round, n) + info
    end do
  case ('dsyev')
    do round = 1, 12
      call fill(a)
      call dsyev('V', 'U', n, a, n, values, work, size(work), info)
      sum = sum + values(n) + info
    end do
  case default
    stop 'usage: matrices dgemm|dgesv|dsyev'
  end select
  print '(es24.16)', sum

contains

  subroutine fill(matrix)
    double precision, intent(out) :: matrix(n, n)
    integer :: i, j

    do j = 1, n
      do i = 1, n
        seed = mod(seed * 16807_8, 2147483647_8)
        seed = iand(seed, 16777215_8)
        matrix(i, j) = seed / 16777216d0
      end do
      matrix(j, j) = matrix(j, j) + n
    end do
  end subroutine fill
end program matrices
