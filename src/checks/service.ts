import { operations } from '../api-client/client.ts';
import { accountRemedy } from '../credentials/account-check.ts';
import { kindNames } from '../inbox/targets.ts';
import { toType } from '../shared/command-name.ts';
import { countOf, duration } from '../shared/format.ts';
import { isDirectory } from '../warehouse/directory.ts';
import { defineCheck } from './check.ts';
import { known } from './overview.ts';

/** Each process uses its own address and credential. */
const accountUnrecognized = defineCheck({
  id: 'account_unrecognized',
  measure({ processes }) {
    const running = known(processes, []);
    const refused = running.filter(({ accountProblem }) => accountProblem !== null);
    const isAll = refused.length === running.length;
    const whose = isAll ? 'The account' : `The account of ${refused.length} of ${running.length} processes`;
    return refused[0] && { whose, accountProblem: refused[0].accountProblem };
  },
  level: 'problem',
  sentence: ({ whose }) => `${whose} is not recognized, so nothing is read, proven or sent.`,
  remedy: accountRemedy,
  detail: ({ accountProblem }) => `The reason: ${accountProblem}.`,
});

/** `Texts, calls and lines`. */
function namesOf(kinds: readonly { readonly kind: keyof typeof kindNames }[]): string {
  const names = kinds.map(({ kind }, at) => (at === 0 ? kindNames[kind] : kindNames[kind].toLowerCase()));
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

const credentialRefused = defineCheck({
  id: 'credential_refused',
  measure({ parked }) {
    const kinds = known(parked, []).filter(({ missingScope }) => missingScope === null);
    // The oldest comes first.
    return kinds[0] && { kinds, reason: kinds[0].reason, since: kinds[0].since };
  },
  level: 'problem',
  sentence: ({ kinds }) => `${namesOf(kinds)} are not read: the service refuses the API key.`,
  remedy: 'Set API_KEY to a valid key in every process. Nothing is lost: reading then resumes.',
  detail: ({ reason }) => `The reason: ${reason}.`,
  since: ({ since }) => since,
});

const scopes = Object.values(operations).flatMap((rows) => Object.values(rows).map(({ scope }): string => scope));

const scopeMissing = defineCheck({
  id: 'scope_missing',
  measure({ parked }) {
    const lacking = known(parked, []).filter(({ missingScope }) => missingScope !== null);
    return [...Map.groupBy(lacking, ({ missingScope }) => missingScope)].map(([scope, kinds]) => ({
      ...{ missingScope: scope, scope: scopes.find((each) => each === scope) ?? 'for them' },
      ...{ kinds, since: kinds[0]?.since },
    }));
  },
  level: 'problem',
  sentence: ({ scope, kinds }) => `${namesOf(kinds)} are not read: the API key lacks the scope ${scope}.`,
  remedy: 'Grant it to the key. Nothing is lost: reading then resumes.',
  detail: ({ scope, missingScope }) => (scope === missingScope ? undefined : `The service names ${missingScope}.`),
  since: ({ since }) => since,
});

const retried = 'Pending reads are kept and retried.';
const asksService = `${toType('doctor')} asks the service and names the error. If this lasts, ask the service’s operator.`;

const serviceFailing = defineCheck({
  id: 'service_failing',
  measure({ circuit, processes, takenAt }) {
    const longest = Math.max(...known(processes, []).map(({ failingSeconds }) => failingSeconds ?? -1));
    const isOpen = circuit !== undefined && circuit.state !== 'closed';
    const seconds = longest < 0 ? undefined : longest;
    return (seconds !== undefined || isOpen) && { seconds, retryMs: circuit?.retryAfterMs, takenAt };
  },
  level: 'problem',
  sentence: ({ seconds }) =>
    seconds === undefined
      ? 'The service fails repeatedly, so no request is sent for a while.'
      : `The service fails: every request has failed for ${duration(seconds)}.`,
  remedy({ retryMs }) {
    const next = retryMs === undefined ? '' : ` The next retry is in ${duration(retryMs / 1_000)}.`;
    return `${retried}${next} ${asksService}`;
  },
  since: ({ seconds, takenAt }) => (seconds === undefined ? undefined : new Date(takenAt.getTime() - seconds * 1_000)),
});

/** Recordings may be forbidden on purpose; missing texts or calls never are. */
const readsForbidden = defineCheck({
  id: 'reads_forbidden',
  measure: ({ backlog }) =>
    known(backlog, []).flatMap(({ kind, forbidden }) => {
      if (forbidden === 0 || kind === 'recordings' || kind === 'transcripts') return [];
      const noun = kind === 'thread' ? 'conversation' : 'call';
      return [isDirectory(kind) ? `the account’s ${kind}` : countOf(forbidden, noun)];
    }),
  level: 'warning',
  sentence: (what) => `The API key may not read ${what}.`,
  remedy: `Give it the permission in the portal, or set API_KEY to one that has it. The reads are retried within a day, or now with ${toType('resync')}.`,
});

/** Whether the service answers, and which account. */
export const serviceChecks = [accountUnrecognized, credentialRefused, scopeMissing, serviceFailing, readsForbidden];
