import type { OpenCredential } from '../../credentials/credentials.ts';
import { maskNumbers } from '../../masking.ts';
import type { Service } from '../../service/client.ts';
import { ServiceError } from '../../service/client.ts';
import type { Subscription } from '../../service/entities/subscription.ts';
import { type Database, query } from '../../warehouse/database.ts';
import { type Finding, findingsOn, messageOf } from './finding.ts';

const on = findingsOn('API');
const patienceMs = 15_000;

export interface ApiExamination {
  readonly findings: readonly Finding[];
  /** All subscriptions of the account, where they could be listed. */
  readonly subscriptions: readonly Subscription[] | undefined;
}

/** Reads a little of each kind that the mirror needs. Writes nothing, marks nothing read, and never rejects. */
export async function examineApi(
  service: Service,
  db: Database,
  credential: OpenCredential['kind'],
): Promise<ApiExamination> {
  const findings: Finding[] = [];
  const call = () => ({ signal: AbortSignal.timeout(patienceMs) });

  /** The answer of one probe; refusals become findings, and what is not there is no fault of the credential. */
  async function probe<T>(what: string, scope: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await read();
      findings.push(on.ok(`${what} can be read.`));
      return answer;
    } catch (error) {
      findings.push(refusalOf(error, what, scope, credential));
      return undefined;
    }
  }

  const lines = await probe('Lines', 'sms:read', () => service.lines.list(call()));
  if (!lines && isHopeless(findings[0])) return { findings, subscriptions: undefined };
  await probe('Users', 'users:read', () => service.users.list(call()));
  const end = Math.ceil(Date.now() / 1_000);
  const search = { start: end - 3_600, end, limit: 1 };
  const recent = await probe('Calls', 'reports:read', () => service.calls.search(search, call()));
  const subscriptions = await probe('Webhook subscriptions', 'webhooks:read', () => service.webhooks.list({}, call()));

  const callId = recent && (recent.data.calls[0]?.id ?? (await newestCall(db)) ?? (await olderCall(service, end)));
  if (callId === undefined) findings.push(on.ok('There was no call to try recordings and transcripts on.'));
  else {
    await probe('Recordings', 'recordings:read', () => service.calls.recordings(callId, call()));
    await probe('Transcripts', 'recordings:read', () => service.calls.transcripts(callId, call()));
  }
  const thread = await anyThread(db);
  if (thread === undefined) findings.push(on.ok('No conversation is known yet to try texts on.'));
  else await probe('Texts', 'messages:read', () => service.conversations.read(thread, { limit: 1 }, call()));
  return { findings, subscriptions: subscriptions?.data };
}

function refusalOf(error: unknown, what: string, scope: string, credential: OpenCredential['kind']): Finding {
  if (!(error instanceof ServiceError)) {
    return on.problem(`${what} cannot be read: ${messageOf(error)}.`, 'See that API_BASE_URL is right.');
  }
  const said = maskNumbers(error.message);
  switch (error.advice) {
    case 'credential':
      return credential === 'login'
        ? on.problem(`The log in cannot be used (${said}).`, 'Run `trunkline auth login`.')
        : on.problem('The service refuses the credential.', 'Set API_KEY to a key that is valid and not revoked.');
    case 'scope':
      return on.problem(
        `${what} cannot be read: the credential lacks the scope ${error.scope ?? scope}.`,
        credential === 'login'
          ? `Run \`trunkline auth login\` and grant ${error.scope ?? scope}.`
          : `Grant ${error.scope ?? scope} to the credential.`,
      );
    case 'permission':
      return on.problem(
        `${what} cannot be read (${said}).`,
        `Give the credential the permission that ${what.toLowerCase()} need.`,
      );
    case 'not_found':
    case 'refused':
      return on.warning(`${what} could not be tried (${said}).`, 'See that API_BASE_URL names the service itself.');
    case 'retry':
    case 'reconcile':
      return on.problem(
        `The service does not answer as it should (${said}).`,
        'See that API_BASE_URL is right and reachable from here; if it is, wait or ask the service’s operator.',
      );
  }
}

/** After these, the other probes would only repeat it. */
function isHopeless(first: Finding | undefined): boolean {
  return first?.level === 'problem' && !first.sentence.includes('scope');
}

async function olderCall(service: Service, end: number): Promise<string | undefined> {
  const month = { start: end - 30 * 86_400, end, limit: 1 };
  const found = await service.calls.search(month, { signal: AbortSignal.timeout(patienceMs) }).catch(() => undefined);
  return found?.data.calls[0]?.id;
}

async function newestCall(db: Database): Promise<string | undefined> {
  const text =
    'select call_id as id from warehouse.calls where deleted_at is null order by started_at desc nulls last limit 1';
  const rows = await query<{ id: string }>(db, text, []).catch(() => []);
  return rows[0]?.id;
}

async function anyThread(db: Database): Promise<{ line: string; number: string } | undefined> {
  const text = `select line, number from warehouse.sms_conversations where participants_key = '' and deleted_at is null limit 1`;
  const rows = await query<{ line: string; number: string }>(db, text, []).catch(() => []);
  return rows[0];
}
