! The Fortran names, and constructs as gfortran lowers them.
program suite
  use omp_lib
  implicit none
  integer :: i, total, threads, failures
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer(omp_sched_kind) :: kind
  integer :: chunk
  real(8) :: x(100)
  failures = 0
  call omp_set_num_threads(3)
  call check(omp_get_max_threads() == 3, 1)
  total = 0
  threads = 0
  !$omp parallel reduction(+:total) shared(threads)
  total = total + omp_get_thread_num()
  !$omp single
  threads = omp_get_num_threads()
  !$omp end single
  !$omp end parallel
  call check(threads == 3 .and. total == 3, 2)
  !$omp parallel do schedule(dynamic, 7)
  do i = 1, 100
    x(i) = i
  end do
  call check(sum(x) == 5050.0d0, 3)
  !$omp parallel workshare
  x(:) = x(:) * 2
  !$omp end parallel workshare
  call check(sum(x) == 10100.0d0, 4)
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  total = 0
  !$omp parallel shared(total)
  do i = 1, 100
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest)
    call omp_set_nest_lock(nest)
    total = total + 1 - 1
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
  end do
  !$omp end parallel
  call check(total >= 1, 5)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  total = 0
  !$omp parallel
  !$omp single
  do i = 1, 50
    !$omp task shared(total) firstprivate(i)
    !$omp atomic
    total = total + i
    !$omp end task
  end do
  !$omp taskwait
  !$omp end single
  !$omp end parallel
  call check(total == 1275, 6)
  call omp_set_schedule(omp_sched_guided, 5)
  call omp_get_schedule(kind, chunk)
  call check(kind == omp_sched_guided .and. chunk == 5, 7)
  call check(.not. omp_in_parallel() .and. omp_get_level() == 0, 8)
  call check(omp_get_wtime() > 0.0d0, 9)
  if (failures > 0) stop 1
contains
  subroutine check(condition, number)
    logical, intent(in) :: condition
    integer, intent(in) :: number
    if (.not. condition) then
      print *, 'check', number, 'failed'
      failures = failures + 1
    end if
  end subroutine
end program
