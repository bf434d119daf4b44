import { decide } from '../../src/rules/decide.ts';
import { sampleFacts } from '../../src/rules/facts/declared.ts';
import type { Case } from '../../src/rules/facts/read.ts';
import { parseRules } from '../../src/rules/file/parse.ts';
import { createHistory } from '../../src/rules/history.ts';
import { atMost, type Finding, quantity } from './report.ts';
import type { Rig } from './rig/rig.ts';
import { spreadOf } from './spread.ts';

const ruleCount = 200;
const events = 500;

/** Conditions as people write them: facts of several groups, a length of time, a pattern. */
const conditions = [
  'message.plain.matches("^(thanks|thank you|thx)( so much| a lot)?$") && thread.outbound_count > 0',
  '!hours.is_open && (!has(thread.last_human_reply_at) || now - thread.last_human_reply_at > duration("30m"))',
  'message.text.contains("refund") || message.text.contains("cancel")',
  'contact.is_new && line.can_text && message.media_count == 0',
  '101 in line.user_ids && replies.count_24h < 2 && thread.message_count > 3',
];

/** One text that came in, against 200 rules: facts to plans. Of them 40 match, and write out a text. */
export async function rules(rig: Rig): Promise<Finding[]> {
  const rounds = rig.rounds ?? 7;
  const list = Array.from({ length: ruleCount }, (_, at) =>
    [
      `  - name: rule-${at}`,
      '    on: message_received',
      `    if: '${conditions[at % conditions.length]}'`,
      `    do: [{ comment: 'Number {{ thread.number }}, rule ${at}' }]`,
      '    limits: { per_thread: 1000 per 1h }',
    ].join('\n'),
  );
  const began = performance.now();
  const set = parseRules(`rules:\n${list.join('\n')}\n`, { file: 'rules.yaml', timeZone: 'America/New_York' });
  const loading = performance.now() - began;
  const [facts] = sampleFacts('message_received');
  if (!facts) throw new Error('there is no sample');
  const subject = { line: '18455550100', number: '17185550123', conversationId: '1', lastMessageId: '7', callId: null };
  const one: Case = { trigger: { kind: 'message_received', key: '1/7', at: facts.now }, subject, facts };
  const milliseconds: number[] = [];
  const processor: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const started = performance.now();
    const used = process.cpuUsage();
    for (let at = 0; at < events; at += 1) decide(set, 'live', one, createHistory([]));
    // The first round warms up.
    if (round === 0) continue;
    milliseconds.push((performance.now() - started) / events);
    const { user, system } = process.cpuUsage(used);
    processor.push((user + system) / 1_000 / events);
  }
  const spread = spreadOf(milliseconds);
  return [
    {
      bench: 'rules',
      what: `one event against ${ruleCount} rules`,
      subject: quantity('evaluation', 'ms', spread),
      goal: atMost(spread, 1, ' ms'),
      limits: 'conditions, and the texts of those that match; without the database',
    },
    {
      bench: 'rules',
      what: 'the same, processor time alone',
      subject: quantity('evaluation', 'ms', spreadOf(processor)),
      limits: 'what it takes on a machine that does nothing else',
    },
    {
      bench: 'rules',
      what: `a file of ${ruleCount} rules is read`,
      subject: quantity('check and trials', 'ms', spreadOf([loading])),
      limits: 'types, patterns, and each rule on its samples',
    },
  ];
}
