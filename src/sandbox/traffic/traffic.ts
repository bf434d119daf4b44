import { startOf } from '../seed/call-history.ts';
import { fullName } from '../seed/directory.ts';
import { liveCallPayload } from '../webhooks/payloads.ts';
import { type CallDeps, callEvent, draftCall, endCall, simulateSms, smsEvent } from './events.ts';

/** Real durations of a live call, in milliseconds. The history shows the call with its generated duration. */
const ringingMs = { min: 700, max: 2_500 };
const talkingMs = { min: 1_500, max: 6_000 };
const replyAfterMs = { min: 2_000, max: 9_000 };

/** Generates random texts and calls, about one every `everyMs`, until the timers are cleared. */
export function startTraffic(deps: CallDeps, everyMs: number): void {
  const { random, timers } = deps;
  timers.after(Math.round(everyMs * (0.4 + random.next() * 1.2)), () => {
    if (random.chance(0.55)) exchangeTexts(deps);
    else startLiveCall(deps);
    startTraffic(deps, everyMs);
  });
}

function exchangeTexts(deps: CallDeps): void {
  const { random, directory, timers, store } = deps;
  const media = random.chance(0.08) ? [`photo-${random.int(1, 9_999)}.jpg`] : [];
  const { line, number } = simulateSms(
    deps,
    smsEvent.parse({ number: random.pick(directory.customers).number, media }),
  );
  if (!random.chance(0.45)) return;
  const author = random.pick(directory.users);
  timers.after(random.between(replyAfterMs), () => {
    const signed = random.chance(0.1) ? { text: `This is ${fullName(author)}, I will call you shortly.` } : {};
    const sentBy = store.users.get(author.id)?.id;
    simulateSms(deps, smsEvent.parse({ line, number, direction: 'out', sentBy, ...signed }));
  });
}

/** ringing → answered → ended. The call is added to the history when it ends. */
function startLiveCall(deps: CallDeps): void {
  const { random, timers, announce, now } = deps;
  const ringing = random.between(ringingMs);
  const talking = random.between(talkingMs);
  // The start is moved back so that the recorded end is the moment of the hang-up.
  const hangUp = Math.ceil((now().getTime() + ringing + talking) / 1000);
  const draft = draftCall(deps, callEvent.parse({}));
  const call = { ...draft, ...startOf(draft, hangUp - draft.durationSeconds) };

  announce('AccountRealTimeCalls', liveCallPayload(call, 'ringing'));
  timers.after(ringing, () => {
    if (call.status === 'answered') announce('AccountRealTimeCalls', liveCallPayload(call, 'answered'));
  });
  timers.after(ringing + talking, () => {
    announce('AccountRealTimeCalls', liveCallPayload(call, 'ended'));
    endCall(deps, call, { announce: true });
  });
}
