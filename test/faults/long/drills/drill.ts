import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../deployment/part.ts';
import { report, sized } from '../../figures.ts';
import { type Person, townRules } from '../../load/town.ts';
import type { OnOpen } from '../../nemesis/proxy.ts';
import { expectHealed, type Site, wordsOf } from '../../oracle/went-back.ts';
import type { Random } from '../../random.ts';

/** The numbers of the drills of a kind that has so many in full. */
export const drills = (full: number) => Array.from({ length: sized(full) }, (_, at) => at + 1);

/** Longer than any drill takes, on a busy machine too. */
export const drillLimitMs = 1_200_000;

export interface Pace {
  /** What the database loses. */
  readonly lostMs: number;
  /** Things that happen in a second. */
  readonly perSecond: number;
}

export function drawPace(random: Random): Pace {
  return { lostMs: random.between(5, 30) * 1_000, perSecond: random.between(3, 20) };
}

/** Before and after what is lost. */
const aroundMs = 10_000;
const writeAgain = 12;

/** The variables of a deployment whose rules act in the town. */
export async function liveRules(onOpen: OnOpen, maxAge = '10m'): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-drill-'));
  onOpen(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'rules.yaml');
  await writeFile(file, townRules(maxAge));
  return { RULES_MODE: 'live', RULES_FILE: file };
}

/** Time that the database keeps. */
export const liveOn = () => sleep(aroundMs);

/** Time that the database loses, in which two people are erased who are known from before. */
export async function liveInVain(site: Pick<Site, 'environment' | 'town'>, lostMs: number): Promise<void> {
  const people = site.town.writersSince('asks', 0).slice(0, 2);
  await Promise.all([sleep(lostMs), ...people.map((person) => erase(site, person))]);
}

/**
 * Time after the database went back: people who were greeted in the lost time write again, somebody is erased, and all
 * who were erased write again.
 */
export async function liveAgain(site: Pick<Site, 'environment' | 'town'>, lostFrom: number): Promise<void> {
  const { town } = site;
  for (const person of town.writersSince('greets', lostFrom).slice(0, writeAgain)) await town.write(person);
  const [person] = town.writersSince('asks', 0);
  if (person) await erase(site, person);
  for (const each of town.gone) await town.write(each);
  await sleep(aroundMs);
}

/** As the command says where the queues do not answer on a busy machine, it is repeated. */
async function erase({ environment, town }: Pick<Site, 'environment' | 'town'>, person: Person): Promise<void> {
  town.leave(person);
  const command = () => runCommand(['erase', person.number, '--yes', '--json'], environment);
  await command().catch(command).catch(command);
}

/** Ends the town, asks the oracle, and reports. */
export async function conclude(
  site: Site,
  campaign: string,
  backend: string,
  { lostMs, perSecond }: Pace,
  how: string,
  began: number,
): Promise<void> {
  await site.town.stop();
  const accepted = wordsOf(await expectHealed(site));
  report(campaign, backend, `${lostMs / 1_000} s lost at ${perSecond}/s, ${how}: ${accepted}`, began);
}
