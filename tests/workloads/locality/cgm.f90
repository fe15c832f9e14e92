! cgm.f90 - the product of NAS CG: y = A x, for a sparse matrix by its columns
subroutine matvec(n, a, rowidx, colstr, x, y)
  implicit none
  integer, intent(in) :: n, rowidx(*), colstr(*)
  double precision, intent(in) :: a(*), x(*)
  double precision, intent(inout) :: y(*)
  integer :: i, j, k
  double precision :: xj

  do i = 1, n
    y(i) = 0d0
  end do
  do j = 1, n
    xj = x(j)
    do k = colstr(j), colstr(j + 1) - 1
      y(rowidx(k)) = y(rowidx(k)) + a(k) * xj
    end do
  end do
end subroutine
