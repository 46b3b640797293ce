//! The services behind the balancers.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tower_service::Service;

use crate::sampling::now;

/// Always ready, and answers at once after so many turns of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    turns: u32,
}

impl Work {
    /// Does nothing.
    pub(crate) const EMPTY: Self = Self { turns: 0 };

    /// Keeps a processor busy for a microsecond, as long as nobody else shares its core.
    pub(crate) fn microsecond() -> Self {
        let trial = Self { turns: 1_000_000 };
        let fastest = (0..11).map(|_| {
            let start = now();
            trial.spin();
            start.elapsed().as_nanos()
        });
        let fastest = fastest.min().unwrap_or(1).max(1);
        Self { turns: u32::try_from(u128::from(trial.turns) * 1_000 / fastest).unwrap_or(u32::MAX) }
    }

    /// One multiplication waits for the one before.
    fn spin(&self) -> u64 {
        (0..self.turns).fold(1, |number: u64, _| black_box(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }
}

impl Service<u64> for Work {
    type Response = u64;
    type Error = Infallible;
    type Future = Ready<Result<u64, Infallible>>;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: u64) -> Self::Future {
        ready(Ok(request ^ self.spin()))
    }
}

/// Makes `count` requests, one after the other, of a service that never makes anybody wait.
pub(crate) fn request<S>(service: &mut S, count: usize)
where
    S: Service<u64, Response = u64>,
{
    let mut context = Context::from_waker(Waker::noop());
    for number in (0..).take(count) {
        let is_ready = matches!(service.poll_ready(&mut context), Poll::Ready(Ok(())));
        assert!(is_ready, "every service is ready");
        let answer = pin!(service.call(black_box(number))).poll(&mut context);
        let Poll::Ready(Ok(answer)) = answer else { panic!("every service answers at once") };
        black_box(answer);
    }
}
