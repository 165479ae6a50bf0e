//! A guard by itself: what it says when nobody tells it anything.

use std::cell::Cell;

use super::*;

/// A tenure that counts as holding for so long from now, without a keeper.
fn tenure(holds: Duration) -> (Tenure, mpsc::UnboundedReceiver<Command>) {
    let (commands, received) = mpsc::unbounded_channel();
    let grant = Grant {
        generation: Generation::ZERO,
        attempt: 0,
        payload: None,
        principal: None,
    };
    let lease = "a".parse().expect("a lease name");
    let local = Local::new(lease, Key(1), Epoch(1), grant, bounds(holds));
    (Tenure::new(Arc::new(local), commands), received)
}

fn bounds(holds: Duration) -> Bounds {
    let give_up = clock::now().plus(holds);
    Bounds {
        give_up,
        deadline: give_up,
    }
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(30);

#[test]
fn it_turns_false_by_itself_and_then_nothing_brings_it_back() {
    let (tenure, _received) = tenure(SHORT);
    assert!(tenure.holds() && tenure.lost().is_none());
    std::thread::sleep(SHORT);
    assert!(!tenure.local.extend(bounds(LONG)), "it was confirmed late");
    assert!(!tenure.holds());
    assert_eq!(tenure.lost(), Some(Loss::ExpiredLocally));
    assert_eq!(tenure.time_left(), Duration::ZERO);
    assert!(
        tenure.token().is_cancelled(),
        "whoever saw it first says so"
    );
}

#[test]
fn it_is_extended_and_ended_by_the_keeper() {
    let (tenure, _received) = tenure(LONG / 2);
    assert!(tenure.local.extend(bounds(LONG)));
    assert!(tenure.time_left() > LONG / 2);
    tenure.local.end(Loss::Forced);
    assert!(!tenure.holds());
    assert!(!tenure.local.extend(bounds(LONG)));
    assert_eq!(tenure.lost(), Some(Loss::Forced));
}

#[tokio::test]
async fn work_is_dropped_on_loss() {
    struct Dropped<'a>(&'a Cell<bool>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let (tenure, _received) = tenure(LONG);
    let is_dropped = Cell::new(false);
    let work = async {
        let _held = Dropped(&is_dropped);
        tenure.local.end(Loss::Taken);
        std::future::pending::<()>().await;
    };
    assert_eq!(tenure.run(work).await, Err(Loss::Taken));
    assert!(is_dropped.get());
}

#[tokio::test]
async fn work_is_not_polled_once_its_time_is_over_though_nobody_said_so() {
    let (tenure, _received) = tenure(SHORT);
    let polls = Cell::new(0);
    let work = poll_fn(|context| {
        polls.set(polls.get() + 1);
        // As when the process stands still. It asks to be polled again.
        std::thread::sleep(SHORT * 2);
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    assert_eq!(tenure.run(work).await, Err(Loss::ExpiredLocally));
    assert_eq!(polls.get(), 1);
}

#[tokio::test]
async fn dropping_it_says_that_the_work_has_stopped() {
    let (tenure, mut received) = tenure(LONG);
    let token = tenure.token();
    drop(tenure);
    assert!(token.is_cancelled());
    let told = received.recv().await;
    assert!(matches!(told, Some(Command::Stopped { .. })));
}

/// A confirmation that is on its way finds the guard gone, which would look like a
/// tenure that ran out, to be taken up again.
#[tokio::test]
async fn dropping_what_is_held_lets_it_go() {
    for (holds, lets_go) in [(LONG, true), (Duration::ZERO, false)] {
        let (tenure, mut received) = tenure(holds);
        drop(tenure);
        let told = received.recv().await;
        assert!(
            matches!(told, Some(Command::Stopped { let_go, .. }) if let_go == lets_go),
            "{lets_go}"
        );
    }
}
