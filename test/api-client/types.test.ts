import { expectTypeOf, test } from 'vitest';
import type {
  Advice,
  Answer,
  Attachment,
  BlockedSender,
  Call,
  CallFilters,
  CallOptions,
  CallPage,
  CallSearch,
  CallSummary,
  ConversationState,
  Draft,
  Effect,
  ErrorCode,
  Leg,
  Line,
  Logger,
  Message,
  ObjectId,
  Pair,
  ReadMarks,
  Recording,
  Resolution,
  SendRequest,
  Sent,
  SentMessage,
  Service,
  ServiceError,
  Subscription,
  Template,
  ThreadAddress,
  ThreadPage,
  ThreadRead,
  Transcript,
  UnreadCounts,
  User,
} from '../../src/api-client/client.ts';

type First<F extends (...parameters: never[]) => unknown> = Parameters<F>[0];
type Messages = Service['messages'];
type Conversations = Service['conversations'];

test('a send has a text, attachments, or both', () => {
  const to = { from: '1', to: ['2'] };
  const picture = { filename: 'a.png', contentType: 'image/png', content: '' } as const;
  expectTypeOf<typeof to & { message: string }>().toExtend<First<Messages['send']>>();
  expectTypeOf<typeof to & { attachments: [typeof picture] }>().toExtend<First<Messages['send']>>();
  expectTypeOf<typeof to>().not.toExtend<First<Messages['send']>>();
  const other = { ...picture, contentType: 'image/webp' } as const;
  expectTypeOf<typeof to & { attachments: [typeof other] }>().not.toExtend<First<Messages['send']>>();
});

test('only a read can name a group', () => {
  type Group = { line: string; number: string; groupParticipants: string[] };
  expectTypeOf<Group>().toExtend<First<Conversations['read']>>();
  expectTypeOf<Group>().not.toExtend<First<Conversations['delete']>>();
  expectTypeOf<Group>().not.toExtend<First<Conversations['resolve']>>();
});

test('a call id is text, and an assignment names somebody or nobody', () => {
  expectTypeOf<First<Service['calls']['get']>>().toEqualTypeOf<string>();
  expectTypeOf<Parameters<Conversations['assign']>[1]>().toEqualTypeOf<number | null>();
});

test('one import names the types of everything that methods take and give', () => {
  type Data<F extends (...parameters: never[]) => Promise<Answer<unknown>>> = Awaited<ReturnType<F>>['data'];
  expectTypeOf<Data<Messages['send']>>().toEqualTypeOf<Sent>();
  expectTypeOf<First<Messages['send']>>().toEqualTypeOf<SendRequest>();
  expectTypeOf<NonNullable<Parameters<Messages['send']>[1]>>().toEqualTypeOf<CallOptions>();
  expectTypeOf<NonNullable<SendRequest['attachments']>[number]>().toEqualTypeOf<Attachment>();
  expectTypeOf<Data<Conversations['read']>>().toEqualTypeOf<ThreadRead>();
  expectTypeOf<First<Conversations['read']>>().toEqualTypeOf<ThreadAddress>();
  expectTypeOf<NonNullable<Parameters<Conversations['read']>[1]>>().toEqualTypeOf<ThreadPage>();
  expectTypeOf<ThreadRead['messages'][number]>().toEqualTypeOf<Message>();
  expectTypeOf<First<Conversations['resolve']>>().toEqualTypeOf<Pair>();
  expectTypeOf<NonNullable<Parameters<Conversations['resolve']>[1]>>().toEqualTypeOf<Resolution>();
  expectTypeOf<Data<Conversations['resolve']>>().toEqualTypeOf<ConversationState>();
  expectTypeOf<First<Service['calls']['search']>>().toEqualTypeOf<CallSearch>();
  expectTypeOf<NonNullable<CallSearch['filters']>>().toEqualTypeOf<CallFilters>();
  expectTypeOf<Data<Service['calls']['search']>>().toEqualTypeOf<CallPage>();
  expectTypeOf<CallPage['calls'][number]>().toEqualTypeOf<CallSummary>();
  expectTypeOf<Data<Service['calls']['get']>>().toEqualTypeOf<Call>();
  expectTypeOf<NonNullable<Call['legs']>[number]>().toEqualTypeOf<Leg>();
  expectTypeOf<Data<Service['calls']['recordings']>[number]>().toEqualTypeOf<Recording>();
  expectTypeOf<Data<Service['calls']['transcripts']>[number]>().toEqualTypeOf<Transcript>();
  expectTypeOf<Data<Service['users']['list']>[number]>().toEqualTypeOf<User>();
  expectTypeOf<Data<Service['lines']['list']>[number]>().toEqualTypeOf<Line>();
  expectTypeOf<Data<Service['lines']['blocked']>>().toEqualTypeOf<BlockedSender>();
  expectTypeOf<Data<Service['unread']['counts']>>().toEqualTypeOf<UnreadCounts>();
  expectTypeOf<Data<Service['drafts']['put']>>().toEqualTypeOf<Draft>();
  expectTypeOf<Data<Service['templates']['create']>>().toEqualTypeOf<Template>();
  expectTypeOf<Data<Service['webhooks']['list']>[number]>().toEqualTypeOf<Subscription>();
  expectTypeOf<Pick<ServiceError, 'code' | 'advice' | 'effect'>>().toEqualTypeOf<{
    readonly code: ErrorCode;
    readonly advice: Advice;
    readonly effect: Effect;
  }>();
  expectTypeOf<Console>().toExtend<Logger>();
});

test('a message that was read can be marked and deleted by its id', () => {
  expectTypeOf<Message['id']>().toExtend<ObjectId>();
  expectTypeOf<Message['id']>().toExtend<Parameters<Conversations['deleteMessage']>[1]>();
  expectTypeOf<Message['id'][]>().toExtend<ReadMarks['messageIds']>();
});

test('options take undefined for what is not said', () => {
  expectTypeOf<{ limit: undefined; offset: undefined }>().toExtend<ThreadPage>();
  expectTypeOf<{ start: number; end: number; limit: undefined; filters: undefined }>().toExtend<CallSearch>();
});

test('what answers 204 has no data, and what may be absent says so', () => {
  expectTypeOf<ReturnType<Conversations['delete']>>().toEqualTypeOf<Promise<Answer<void>>>();
  expectTypeOf<SentMessage['id']>().toEqualTypeOf<number | string | undefined>();
  expectTypeOf<SentMessage['type']>().toExtend<string | undefined>();
});
