! cg.f90 - NAS CG: the smallest eigenvalue of a sparse random matrix by inverse iteration, each step by conjugate gradients
!
! cg [CLASS [PRODUCTS]]
!
! Written after the specification: Bailey et al., "The NAS Parallel Benchmarks" (RNR-94-007; NAS-95-020 for later classes).
! CLASS: S (default), W or A. Prints the numbers of rows and of elements, and zeta, which is verified: the status is 1 if
! it is another one than the specification's. With PRODUCTS, so many products of the matrix and a vector are made instead,
! and the sum of the last one is printed.
!
! The product of the matrix and a vector is in cgm.f90: it can be compiled with other options.
!
! The matrix is A = sum of w_i x_i x_i^T for i from 1 to n, and (0.1 - shift) I. x_i has `nonzer` random elements at random
! places, and 0.5 at place i; w_i goes from 1 to 0.1 as a geometric sequence. Random numbers are those of the benchmarks:
! s = 5^13 s mod 2^46, from 314159265 on.
module cg_matrix
  implicit none
  integer, parameter :: wide = selected_int_kind(18), real8 = kind(1d0)
  integer(wide), parameter :: half = 2_wide**23, factor = 1220703125_wide
  integer(wide) :: seed = 314159265_wide

  ! A sum of outer products: elements with one place are added up.
  type element
    integer :: row, next
    real(real8) :: value
  end type
contains
  ! Between 0 and 1. Products of 46 bits and 31 bits are made of halves, so that none has more than 63.
  real(real8) function next_random()
    seed = mod(factor * mod(seed, half) + mod(factor * (seed / half), half) * half, half * half)
    next_random = real(seed, real8) / real(half * half, real8)
  end function

  ! Places and values of x_i; `count` of them.
  subroutine make_vector(n, i, nonzer, places, values, count)
    integer, intent(in) :: n, i, nonzer
    integer, intent(out) :: places(nonzer + 1), count
    real(real8), intent(out) :: values(nonzer + 1)
    integer :: range, place
    real(real8) :: value

    range = 1
    do while (range < n)
      range = 2 * range
    end do
    count = 0
    do while (count < nonzer)
      value = next_random()
      place = int(real(range, real8) * next_random()) + 1
      if (place > n .or. any(places(1:count) == place)) cycle
      count = count + 1
      places(count) = place
      values(count) = value
    end do
    if (any(places(1:count) == i)) then
      where (places(1:count) == i) values(1:count) = 0.5d0
    else
      count = count + 1
      places(count) = i
      values(count) = 0.5d0
    end if
  end subroutine

  ! By columns: rowidx and a of column j are at colstr(j) to colstr(j + 1) - 1. Within a column, rows ascend.
  subroutine make_matrix(n, nonzer, shift, colstr, rowidx, a)
    integer, intent(in) :: n, nonzer
    real(real8), intent(in) :: shift
    integer, allocatable, intent(out) :: colstr(:), rowidx(:)
    real(real8), allocatable, intent(out) :: a(:)
    type(element), allocatable :: elements(:)
    integer :: first(n), places(nonzer + 1), count, used, i, j, k, at
    real(real8) :: values(nonzer + 1), weight, value

    allocate(elements(n * (nonzer + 1)**2))
    first = 0
    used = 0
    weight = 1
    do i = 1, n
      call make_vector(n, i, nonzer, places, values, count)
      do j = 1, count
        do k = 1, count
          value = values(k) * (weight * values(j))
          if (places(j) == i .and. places(k) == i) value = value + 0.1d0 - shift
          call add_element(elements, used, first(places(j)), places(k), value)
        end do
      end do
      weight = weight * 0.1d0**(1d0 / n)
    end do
    allocate(colstr(n + 1), rowidx(used), a(used))
    at = 1
    do j = 1, n
      colstr(j) = at
      k = first(j)
      do while (k /= 0)
        rowidx(at) = elements(k)%row
        a(at) = elements(k)%value
        at = at + 1
        k = elements(k)%next
      end do
    end do
    colstr(n + 1) = at
  end subroutine

  ! To a column, which is a list.
  subroutine add_element(elements, used, first, row, value)
    type(element), intent(inout) :: elements(:)
    integer, intent(inout) :: used, first
    integer, intent(in) :: row
    real(real8), intent(in) :: value
    integer :: at, before

    before = 0
    at = first
    do while (at /= 0)
      if (elements(at)%row >= row) exit
      before = at
      at = elements(at)%next
    end do
    if (at /= 0) then
      if (elements(at)%row == row) then
        elements(at)%value = elements(at)%value + value
        return
      end if
    end if
    used = used + 1
    elements(used) = element(row, at, value)
    if (before == 0) then
      first = used
    else
      elements(before)%next = used
    end if
  end subroutine
end module

! z: about the solution of A z = x, by 25 steps
subroutine solve(n, a, rowidx, colstr, x, z)
  implicit none
  integer, intent(in) :: n, rowidx(*), colstr(*)
  double precision, intent(in) :: a(*), x(n)
  double precision, intent(out) :: z(n)
  double precision :: r(n), p(n), q(n), rho, before, alpha
  integer :: step

  z = 0
  r = x
  p = r
  rho = dot_product(r, r)
  do step = 1, 25
    call matvec(n, a, rowidx, colstr, p, q)
    alpha = rho / dot_product(p, q)
    z = z + alpha * p
    r = r - alpha * q
    before = rho
    rho = dot_product(r, r)
    p = r + (rho / before) * p
  end do
end subroutine

program cg
  use cg_matrix
  implicit none
  character(len=8) :: class, products
  integer, allocatable :: colstr(:), rowidx(:)
  real(real8), allocatable :: a(:), x(:), z(:)
  real(real8) :: shift, zeta, expected, first
  integer :: n, nonzer, iterations, step

  class = 'S'
  if (command_argument_count() > 0) call get_command_argument(1, class)
  select case (class)
  case ('S')
    n = 1400; nonzer = 7; iterations = 15; shift = 10; expected = 8.5971775078648d0
  case ('W')
    n = 7000; nonzer = 8; iterations = 15; shift = 12; expected = 10.362595087124d0
  case ('A')
    n = 14000; nonzer = 11; iterations = 15; shift = 20; expected = 17.130235054029d0
  case default
    error stop 'cg: the class is S, W or A'
  end select
  first = next_random() ! one that is not used
  call make_matrix(n, nonzer, shift, colstr, rowidx, a)
  allocate(x(n), z(n))
  print '(a,i0,a,i0)', 'rows ', n, ' elements ', colstr(n + 1) - 1
  x = 1
  if (command_argument_count() > 1) then
    call get_command_argument(2, products)
    read (products, *) iterations
    do step = 1, iterations
      call matvec(n, a, rowidx, colstr, x, z)
    end do
    print '(a,es24.16)', 'sum ', sum(z)
    stop
  end if
  do step = 1, iterations
    call solve(n, a, rowidx, colstr, x, z)
    zeta = shift + 1 / dot_product(x, z)
    x = z / sqrt(dot_product(z, z))
  end do
  print '(a,f0.13)', 'zeta ', zeta
  if (abs(zeta - expected) > 1d-10) error stop 1
end program
