import { randomUUID } from 'node:crypto';
import { FastifyOtelInstrumentation } from '@fastify/otel';
import {
  type Attributes,
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import { BullMQOtel } from 'bullmq-otel';
import type { Log } from '../shared/log.ts';
import { readRelease } from '../shared/release.ts';
import { type TracedProcess, type Tracing, useTracing } from '../shared/tracing.ts';

/* Loaded on demand by telemetry.ts: nothing else imports OpenTelemetry.  */

/**
 * The exported attributes. Everything else is dropped: the libraries also set paths, which contain WEBHOOK_SECRET, and
 * job ids, which contain phone numbers; error messages quote answers.
 */
const exported = new Set([
  'bullmq.job.bulk.count',
  'bullmq.job.name',
  'bullmq.queue.name',
  'bullmq.queue.operation',
  'db.system.name',
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'trunkline.api.attempt',
  'trunkline.api.operation',
  'trunkline.delivery.id',
]);

/** Starts tracing. Resolves to a function that flushes and stops it. */
export function startOpenTelemetry(kind: TracedProcess, log: Log): () => Promise<void> {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'trunkline',
      'service.version': readRelease().version,
      'service.instance.id': randomUUID(),
      'trunkline.process': kind,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(withoutContent(createExporter(log), log))],
  });
  provider.register();
  const fastify = new FastifyOtelInstrumentation({
    registerOnInitialization: true,
    instrumentHooks: false,
    instrumentHandler: false,
    recordExceptions: false,
    // Pages and health checks aren't deliveries.
    ignorePaths: ({ url }) => !url.startsWith('/hooks/'),
    requestHook: (span, { method, routeOptions }) => void span.updateName(`${method} ${routeOptions.url ?? ''}`),
  });
  fastify.setTracerProvider(provider);
  useTracing(createTracing());
  return async () => {
    useTracing(undefined);
    fastify.disable();
    await provider.shutdown();
  };
}

function createExporter(log: Log): SpanExporter {
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: ofTraces, OTEL_EXPORTER_OTLP_PROTOCOL: ofAll } = process.env;
  const protocol = ofTraces || ofAll || 'http/protobuf';
  if (protocol === 'http/json') return new JsonExporter();
  if (protocol !== 'http/protobuf') {
    log.warn(`OTEL_EXPORTER_OTLP_PROTOCOL=${protocol} is not offered: traces are sent by http/protobuf`);
  }
  return new ProtobufExporter();
}

/** Exports spans without content, numbers and tokens, and without the queue library's own housekeeping. */
function withoutContent(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      const kept = spans.filter(
        (each) =>
          (each.instrumentationScope.name !== 'bullmq' || each.kind !== SpanKind.INTERNAL) &&
          // A hook answers 404 only for a wrong secret. Otherwise anybody could add spans to a trace of their choice.
          !(each.attributes['http.response.status_code'] === 404 && / \/hooks\//.test(each.name)),
      );
      exporter.export(kept.map(redacted), (result: ExportResult) => {
        const hasFailed = result.code !== ExportResultCode.SUCCESS;
        if (hasFailed && !isFailing) log.warn({ reason: result.error?.name }, 'Traces cannot be sent; work goes on');
        else if (!hasFailed && isFailing) log.info('Traces are sent again');
        isFailing = hasFailed;
        done({ code: result.code });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

function redacted(span: ReadableSpan): ReadableSpan {
  const { name, kind, startTime, endTime, duration, ended, resource, instrumentationScope, links, status } = span;
  const { parentSpanContext, droppedAttributesCount, droppedEventsCount, droppedLinksCount } = span;
  const attributes: Attributes = {};
  for (const [key, value] of Object.entries(span.attributes)) if (exported.has(key)) attributes[key] = value;
  return {
    ...{ name, kind, startTime, endTime, duration, ended, resource, instrumentationScope },
    ...(parentSpanContext && { parentSpanContext }),
    ...{ droppedAttributesCount, droppedEventsCount, droppedLinksCount },
    spanContext: () => span.spanContext(),
    status: { code: status.code },
    attributes,
    events: [],
    links: links.map((link) => ({ context: link.context })),
  };
}

const propagator = new W3CTraceContextPropagator();

function createTracing(): Tracing {
  const tracer = trace.getTracer('trunkline', readRelease().version);

  function contextOf(causes: readonly string[] | undefined) {
    const active = context.active();
    if (causes === undefined) return { parent: active, links: [] };
    const contexts = [...new Set(causes)].flatMap((traceparent) => {
      const found = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter));
      return found === undefined ? [] : [found];
    });
    const own = trace.getSpanContext(active);
    const [cause] = contexts;
    if (cause === undefined || contexts.length > 1) {
      const links: Link[] = contexts.map((each) => ({ context: each }));
      return { parent: ROOT_CONTEXT, links };
    }
    if (own?.traceId === cause.traceId) return { parent: active, links: [] };
    // A job may find its target marked by a later delivery.
    const links: Link[] = own === undefined ? [] : [{ context: own }];
    return { parent: trace.setSpanContext(ROOT_CONTEXT, cause), links };
  }

  return {
    inSpan(name, { kind, attributes = {}, causes }, work) {
      const { parent, links } = contextOf(causes);
      const span = tracer.startSpan(
        name,
        { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes, links },
        parent,
      );
      return context.with(trace.setSpan(parent, span), async () => {
        try {
          return await work({ set: (more) => void span.setAttributes(more) });
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR });
          const { code, name: type } = error as { code?: unknown; name?: unknown };
          span.setAttribute('error.type', String(code ?? type));
          throw error;
        } finally {
          span.end();
        }
      });
    },
    traceparent() {
      const carrier: Record<string, string> = {};
      propagator.inject(context.active(), carrier, defaultTextMapSetter);
      return carrier.traceparent;
    },
    detached: (work) => context.with(ROOT_CONTEXT, work),
    ofQueues: new BullMQOtel({ tracerName: 'bullmq' }),
  };
}
