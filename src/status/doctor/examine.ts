import { plainText, plainTextHost } from '../../../config/settings.ts';
import type { ReadySettings } from '../../context.ts';
import { openCredential } from '../../credentials/credentials.ts';
import type { Log } from '../../log.ts';
import { createQueues, type Queues } from '../../queues/queues.ts';
import { createService, type Service } from '../../service/client.ts';
import { knownSubscriptions } from '../../sync/subscriptions/watched.ts';
import { createDatabase, type Database, type OpenDatabase } from '../../warehouse/database.ts';
import { concernsOf } from '../concerns.ts';
import { readSubscriptions } from '../facts/account.ts';
import { known, takeSnapshot } from '../snapshot.ts';
import { quantity } from '../words.ts';
import { examineApi } from './api.ts';
import { examineCredential, examineKeys } from './credential.ts';
import { type Finding, findingsOn, isFault, messageOf } from './finding.ts';
import { examinePostgres } from './postgres.ts';
import { examineReceiver } from './receiver.ts';

/** Deliveries a second, in the busiest minute, beyond which the queues in Postgres fall behind. */
const outgrownPerSecond = 300;

/** Examines a deployment part by part, changing nothing; what cannot be examined is a finding. Never rejects. */
export async function examine(settings: ReadySettings, log: Log): Promise<Finding[]> {
  await using database = createDatabase({ url: settings.databaseUrl, log, maxConnections: 2, name: 'doctor' });
  const findings = [findingsOn('Settings').ok('The settings are well-formed.')];
  const host = plainTextHost(settings.databaseUrl);
  if (host !== undefined) findings.push(findingsOn('Postgres').warning(plainText.sentence(host), plainText.remedy));
  const postgres = await examinePostgres(database.db, settings.poolSize);
  findings.push(...postgres);
  const open = openCredential(settings, log);
  const service =
    open && createService({ baseUrl: open.baseUrl, credential: open.credential, log, retry: { tries: 2 } });
  try {
    if (postgres.length > 1) findings.push(...(await examineMirror(settings, database, service, log)));
    findings.push(...(await examineKeys(settings, database.db)));
    findings.push(...(await examineCredential(settings, database.db)));
    const api = service && (await examineApi(service, database.db, open.kind));
    findings.push(...(api?.findings ?? [noApi]));
    const watched = await knownSubscriptions(database.db).catch(() => undefined);
    findings.push(...(await examineReceiver(settings, api?.subscriptions, await isDelivered(database.db), watched)));
  } finally {
    await service?.close();
    await open?.close();
  }
  return findings;
}

async function isDelivered(db: Database): Promise<boolean> {
  const held = await readSubscriptions(db).catch(() => undefined);
  return held?.ours.some(({ isEnabled }) => isEnabled) ?? false;
}

const noApi = findingsOn('API').warning(
  'API_BASE_URL, or what to show it, is not set here, so the service was not asked.',
  'Set API_BASE_URL, and API_KEY or ENCRYPTION_KEY, as the worker has them.',
);

/** The queues, and what the mirror itself has to say; the latter as the status page says it. */
async function examineMirror(
  settings: ReadySettings,
  database: OpenDatabase,
  service: Service | undefined,
  log: Log,
): Promise<Finding[]> {
  const on = findingsOn('Queue');
  let queues: Queues;
  try {
    const { redisUrl, databaseUrl } = settings;
    queues = await createQueues({ redisUrl, databaseUrl, log, isReadOnly: true });
  } catch (error) {
    return [on.problem(`The queues cannot be opened: ${messageOf(error)}.`, 'Run `trunkline migrate`.')];
  }
  try {
    const snapshot = await takeSnapshot({ database, queues, service, settings });
    const facts = known(snapshot.queues, undefined);
    const findings: Finding[] = [];
    if (facts?.isReachable && facts.warnings.length === 0) {
      findings.push(on.ok(`The queues in ${facts.backend === 'redis' ? 'Redis' : 'Postgres'} answer.`));
    }
    const perSecond = Math.max(0, ...(known(snapshot.inbox, undefined)?.perMinute ?? [])) / 60;
    if (facts?.backend === 'postgres' && perSecond > outgrownPerSecond) {
      findings.push(
        on.warning(
          `The queues in Postgres are outgrown: ${quantity(Math.round(perSecond))} deliveries a second came in the busiest minute.`,
          'Set REDIS_URL: Redis rings some ten times as many.',
        ),
      );
    }
    const concerns = concernsOf(snapshot).map((concern) => ({ ...concern, subject: 'Mirror' }));
    findings.push(...concerns);
    if (!concerns.some(isFault))
      findings.push(findingsOn('Mirror').ok('Nothing is overdue, parked, failing or refused.'));
    return findings;
  } catch (error) {
    return [on.problem(messageOf(error), 'Run `trunkline doctor` again when Postgres answers.')];
  } finally {
    await queues.close();
  }
}
