! sparse.f90 - the matrix of NAS CG times a vector, as its columns are kept, and a matrix by its rows
program sparse
  implicit none
  integer, parameter :: n = 2000, nz = 7, m = 64
  integer :: colstr(n + 1), rowidx(n * nz)
  double precision :: a(n * nz), x(n), y(n), w(m, m), z(m)
  integer :: j, k, seed
  seed = 1
  do j = 1, n + 1
    colstr(j) = (j - 1) * nz + 1
  end do
  do k = 1, n * nz
    seed = mod(seed * 1103 + 12345, 65536)
    rowidx(k) = 1 + mod(seed, n)
    a(k) = 1d0
  end do
  x = 2d0
  y = 0d0
  w = 3d0
  z = 0d0
  call matvec(n, colstr, rowidx, a, x, y)
  call rowsum(m, w, z)
  print '(f14.1)', sum(y) + sum(z)
contains
  subroutine matvec(n, colstr, rowidx, a, x, y)
    integer, intent(in) :: n, colstr(*), rowidx(*)
    double precision, intent(in) :: a(*), x(*)
    double precision, intent(inout) :: y(*)
    integer :: j, k
    double precision :: xj
    do j = 1, n
      xj = x(j)
      do k = colstr(j), colstr(j + 1) - 1
        y(rowidx(k)) = y(rowidx(k)) + a(k) * xj
      end do
    end do
  end subroutine
  subroutine rowsum(m, w, z)
    integer, intent(in) :: m
    double precision, intent(in) :: w(m, m)
    double precision, intent(inout) :: z(*)
    integer :: i, j
    do i = 1, m
      do j = 1, m
        z(i) = z(i) + w(i, j)
      end do
    end do
  end subroutine
end program
