! Detached tasks of Fortran: the event is passed by value.
program detach
  use omp_lib
  implicit none
  integer(omp_event_handle_kind) :: event
  integer :: done
  done = 0
  !$omp parallel shared(done) private(event)
  !$omp single
  !$omp task detach(event) shared(done)
  !$omp atomic
  done = done + 1
  call omp_fulfill_event(event)
  !$omp end task
  !$omp taskwait
  if (done /= 1) stop 1
  !$omp end single
  !$omp end parallel
end program
