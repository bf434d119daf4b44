import type { Leg, Transcript } from '../../../src/sandbox/account.ts';
import type { Account } from './account.ts';
import { nameOf, ownerOf } from './agents.ts';
import { type Fact, factsOf, uniqueIdOf } from './calls.ts';
import { dateAt, second } from './clock.ts';
import { isOfPerson, kindOfText } from './returns.ts';
import { grouped, quotient, type Report, total } from './rows.ts';
import { reachedBy, sentTexts } from './texts.ts';

/** What the analysis says of calls, as the comments of `fct_transcript` and `quality_daily` define it. */

interface Analysed {
  readonly call: Fact;
  readonly transcript: Transcript;
  readonly date: string;
  /** The recorded leg; undefined where it is not known. */
  readonly leg: Leg | undefined;
  readonly userId: number | null;
  readonly agentName: string | null;
  /** As the analysis heard it. */
  readonly heardName: string | null;
  readonly talk: { readonly agent: number; readonly customer: number } | undefined;
}

function analysedCalls(account: Account): Analysed[] {
  return factsOf(account).flatMap((call) => {
    const transcripts = account.calls.get(call.id)?.transcripts ?? [];
    if (!call.isWhole || call.isOfErased) return [];
    return transcripts.map((transcript) => {
      const leg = legOf(call, transcript, transcripts.length);
      const desk = leg && [leg.to, leg.from].find(({ type }) => type === 'user');
      const userId = desk ? ownerOf(account, desk.number) : null;
      return {
        ...{ call, transcript, leg, userId, date: dateAt(call.at, account.definitions.timeZone) },
        agentName: userId === null ? null : nameOf(account, userId),
        heardName: transcript.agentName || null,
        talk: talkOf(transcript),
      };
    });
  });
}

/** The leg whose unique id, without its dot, the file name has; or the only one, where there is only one of both. */
function legOf(call: Fact, { recording }: Transcript, siblings: number): Leg | undefined {
  const recorded = call.legs.filter((leg) => leg.recorded);
  const named = recorded.find((leg) => recording.includes(uniqueIdOf(call, leg).replace('.', '')));
  return named ?? (recorded.length === 1 && siblings === 1 ? recorded[0] : undefined);
}

function talkOf({ segments, agentSpeaker }: Transcript): Analysed['talk'] {
  if (agentSpeaker === undefined) return undefined;
  const of = (isAgent: boolean) => {
    return total(segments.map(({ start, end, speaker }) => ((speaker === agentSpeaker) === isAgent ? end - start : 0)));
  };
  return { agent: of(true), customer: of(false) };
}

function shareOf({ talk }: Analysed): number | null {
  return talk && talk.agent + talk.customer > 0 ? talk.agent / (talk.agent + talk.customer) : null;
}

/** What was said and written of it is not shown unless somebody sets so. */
const hidden = {
  ...{ short_summary: null, bullet_points: null, csat_note: null, agent_performance_note: null },
  ...{ action_required_note: null, urgent_action_required_note: null },
};

export function transcriptReports(account: Account): Report[] {
  const analysed = analysedCalls(account);
  const agentOf = ({ userId, agentName, heardName }: Analysed) =>
    [userId, agentName, userId === null ? heardName : null] as const;
  const score = (values: readonly (number | undefined)[]) => {
    const known = values.filter((value) => value !== undefined);
    return { count: known.length, sum: total(known), average: quotient(total(known), known.length, 100) };
  };
  const quality = grouped(
    analysed,
    (each) => [each.date, ...agentOf(each), each.transcript.callPurpose ?? null] as const,
  );
  const felt = analysed.filter(({ transcript }) => transcript.callSentiment);
  const sentiments = grouped(
    felt,
    (each) => [each.date, ...agentOf(each), each.transcript.callSentiment ?? ''] as const,
  );
  const kpis = analysed.flatMap((each) => each.transcript.customKpis.map((kpi) => ({ each, kpi })));
  const measures = grouped(kpis, ({ each, kpi }) => [each.date, ...agentOf(each), kpi.name] as const);
  return [
    {
      view: 'reporting.fct_transcript',
      key: ['transcript_id'],
      beside: ['leg_pairing'],
      rows: analysed.map((each) => {
        const { transcript, call, leg, talk } = each;
        return {
          ...{
            transcript_id: transcript.id,
            call_id: call.id,
            call_started_at: new Date(call.at),
            local_date: each.date,
          },
          leg_unique_id: leg ? uniqueIdOf(call, leg) : null,
          ...{ call_purpose: transcript.callPurpose ?? null, call_sentiment: transcript.callSentiment ?? null },
          csat_score: transcript.customerSatisfactionScore ?? null,
          agent_performance_score: transcript.agentPerformanceScore ?? null,
          ...{
            is_action_required: transcript.actionRequired,
            is_urgent_action_required: transcript.urgentActionRequired,
          },
          ...{ ...hidden, agent_user_id: each.userId, agent_name: each.agentName, heard_agent_name: each.heardName },
          ...{ agent_talk_seconds: talk?.agent ?? null, customer_talk_seconds: talk?.customer ?? null },
          ...{ agent_talk_share: shareOf(each), segment_count: transcript.segments.length },
        };
      }),
    },
    {
      view: 'reporting.quality_daily',
      key: ['local_date', 'agent_user_id', 'heard_agent_name', 'call_purpose'],
      rows: quality.map(({ key: [local_date, agent_user_id, agent_name, heard_agent_name, call_purpose], items }) => {
        const csat = score(items.map(({ transcript }) => transcript.customerSatisfactionScore));
        const performance = score(items.map(({ transcript }) => transcript.agentPerformanceScore));
        const shares = items.flatMap((each) => shareOf(each) ?? []);
        return {
          ...{ local_date, agent_user_id, agent_name, heard_agent_name, call_purpose, transcript_count: items.length },
          ...{ csat_count: csat.count, csat_sum: csat.sum, csat_avg: csat.average },
          ...{
            performance_count: performance.count,
            performance_sum: performance.sum,
            performance_avg: performance.average,
          },
          analysed_action_count: items.length,
          action_count: items.filter(({ transcript }) => transcript.actionRequired).length,
          urgent_action_count: items.filter(({ transcript }) => transcript.urgentActionRequired).length,
          talk_share_count: shares.length,
          agent_talk_share_avg: shares.length > 0 ? total(shares) / shares.length : null,
          unpaired_count: items.filter(({ leg }) => !leg).length,
        };
      }),
      rounded: { agent_talk_share_avg: 0.0005 },
    },
    {
      view: 'reporting.sentiment_daily',
      key: ['local_date', 'agent_user_id', 'heard_agent_name', 'call_sentiment'],
      rows: sentiments.map(
        ({ key: [local_date, agent_user_id, agent_name, heard_agent_name, call_sentiment], items }) => ({
          ...{
            local_date,
            agent_user_id,
            agent_name,
            heard_agent_name,
            call_sentiment,
            transcript_count: items.length,
          },
        }),
      ),
    },
    {
      view: 'reporting.kpi_daily',
      key: ['local_date', 'agent_user_id', 'heard_agent_name', 'kpi_name'],
      rows: measures.map(({ key: [local_date, agent_user_id, agent_name, heard_agent_name, kpi_name], items }) => {
        const { count, sum, average } = score(items.map(({ kpi }) => kpi.value));
        return {
          ...{ local_date, agent_user_id, agent_name, heard_agent_name, kpi_name, transcript_count: items.length },
          ...{ score_count: count, score_sum: sum, score_avg: average },
        };
      }),
    },
    ...actions(account, analysed),
  ];
}

/** Calls after which somebody should act, and the first call or text of a user to the customer since. */
function actions(account: Account, analysed: readonly Analysed[]): Report[] {
  const facts = factsOf(account);
  const texts = sentTexts(account);
  const wanted = analysed.filter(({ transcript }) => transcript.actionRequired || transcript.urgentActionRequired);
  const rows = grouped(wanted, ({ call }) => [call.id]).map(({ items }) => {
    const urgent = ({ transcript }: Analysed) => (transcript.urgentActionRequired ? 0 : 1);
    const first = items.toSorted((a, b) => urgent(a) - urgent(b) || a.transcript.id - b.transcript.id)[0] as Analysed;
    const { call, userId, agentName, heardName } = first;
    const hasEnd = account.calls.get(call.id)?.call.hasEnd;
    const end = call.at + (hasEnd ? call.duration * second : 0);
    const number = call.externalNumber;
    const contacts = [
      ...facts
        .filter(({ direction, externalNumber }) => direction === 'outbound' && externalNumber === number)
        .map(({ at }) => ({ at, by: 'outbound_call' })),
      ...texts
        .filter((text) => reachedBy(text).includes(number ?? ''))
        .map((text) => ({ at: text.message.sentAt, by: kindOfText(text) })),
    ]
      .filter(({ at }) => number !== null && at > end)
      .toSorted((one, other) => one.at - other.at);
    const reached = contacts.find(({ by }) => isOfPerson(by));
    return {
      ...{
        call_id: call.id,
        call_started_at: new Date(call.at),
        local_date: first.date,
        note: null,
        short_summary: null,
      },
      is_urgent: items.some(({ transcript }) => transcript.urgentActionRequired),
      ...{
        transcript_count: items.length,
        transcript_id: first.transcript.id,
        agent_user_id: userId,
        agent_name: agentName,
      },
      ...{ heard_agent_name: heardName, external_number: number, account_number: call.accountNumber },
      followed_up_at: reached ? new Date(reached.at) : null,
      followed_up_by: reached?.by ?? contacts[0]?.by ?? null,
      is_open: !reached,
    };
  });
  const open = rows
    .filter(({ is_open }) => is_open)
    .map(({ followed_up_at, followed_up_by, is_open, ...row }) => {
      return { ...row, texted_by: followed_up_by };
    });
  return [
    { view: 'reporting.fct_action', key: ['call_id'], rows },
    { view: 'reporting.action_backlog', key: ['call_id'], rows: open },
  ];
}
