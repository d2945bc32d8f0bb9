/**
 * Triggers outside of Git for public clients: events, and which pipelines they start. They are the cron and event triggers of `/v1`. An event is stored only as
 * part of a trigger.
 */
import { fault, sha256 } from '@windlass/kit'
import { CronTrigger, CronTriggerInput, EventTrigger, EventTriggerInput, Name } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { placesOf } from '../../../identity/actor.ts'
import { requireWrite } from '../../../pipelines/pipeline-use.ts'
import type { Places } from '../../../store/places.ts'
import { listCronTriggers } from '../../../store/triggers/cron-triggers.ts'
import { listEventTriggers } from '../../../store/triggers/event-triggers.ts'
import type { Tx } from '../../../store/store.ts'
import { createCronTrigger, removeCronTrigger } from '../../../triggers/cron/cron-triggers.ts'
import { createEventTrigger, removeEventTrigger } from '../../../triggers/events/event-triggers.ts'
import { findListedPipeline } from '../../../triggers/of-pipeline.ts'
import { done, ok, requireShape, route, type Route } from '../../route.ts'
import { filtersOf, readUri, sourceOf, toUri, type EventSource } from './event-uri.ts'

const reads = { allow: 'see-pipelines', scope: 'pipeline:read' } as const
const writes = { allow: 'change-pipelines', scope: 'pipeline:write' } as const

/** Maximum number of triggers of each kind in a list. */
const MAX_LISTED = 5_000

const Uri = z.string().min(1).max(1_500)
const Target = z.object({ event: Uri, pipeline: Name })
const Filters = z.strictObject({ tag: z.string().max(1_000).optional() })

const PublicTrigger = z.object({ event: z.string(), pipeline: z.string(), filters: z.record(z.string(), z.string()) })

/** A trigger, and what it is stored as. */
interface Found extends z.output<typeof PublicTrigger> {
  readonly id: string
  readonly source: EventSource
}

interface Wanted {
  /** Name or id; undefined for all pipelines. */
  readonly pipeline?: string
  /** Only triggers of pipelines of these places. */
  readonly places?: Places | undefined
}

/** Lists the triggers of a pipeline, or of all. Throws `not-found` for an unknown pipeline. */
export async function findTriggers(app: App, { pipeline, places }: Wanted): Promise<Found[]> {
  const { store, accountId } = app
  const pipelineId = await findListedPipeline(app, { pipeline, places })
  const page = { accountId, pipelineId, places, after: undefined, limit: MAX_LISTED }
  const crons = await listCronTriggers(store.query, page)
  const others = await listEventTriggers(store.query, page)
  return [
    ...crons.map((row) => ({ row, spec: CronTrigger.parse(JSON.parse(row.spec)) })),
    ...others.map((row) => ({ row, spec: EventTrigger.parse(JSON.parse(row.spec)) })),
  ].map(({ row, spec }) => {
    const source = sourceOf(spec)
    return { id: row.id, source, event: toUri(accountId, source), pipeline: row.pipeline_id, filters: filtersOf(spec) }
  })
}

export function publicTriggerRoutes(app: App): Route[] {
  return [
    route('GET', '/api/hermes/triggers', {
      summary: 'List the events that start pipelines',
      ...reads,
      project: 'handler',
      replies: { 200: z.array(PublicTrigger) },
      handle: async ({ actor }) => ok(await findTriggers(app, { places: placesOf(actor, reads.allow) })),
    }),
    route('GET', '/api/hermes/triggers/event/{event}', {
      summary: 'List the pipelines that an event starts',
      ...reads,
      project: 'handler',
      params: z.object({ event: Uri }),
      replies: { 200: z.array(PublicTrigger) },
      async handle({ params, actor }) {
        const uri = decodeUri(params.event)
        const found = await findTriggers(app, { places: placesOf(actor, reads.allow) })
        return ok(found.filter(({ event }) => event === uri))
      },
    }),
    route('GET', '/api/hermes/triggers/pipeline/{pipeline}', {
      summary: 'List the events that start a pipeline',
      ...reads,
      project: 'pipeline',
      params: z.object({ pipeline: Name }),
      replies: { 200: z.array(PublicTrigger) },
      handle: async ({ params: { pipeline } }) => ok(await findTriggers(app, { pipeline })),
    }),
    createRoute(app),
    deleteRoute(app),
  ]
}

function createRoute(app: App): Route {
  return route('POST', '/api/hermes/triggers/{event}/{pipeline}', {
    summary: 'Let an event start a pipeline. A trigger that exists is left as it is',
    ...writes,
    project: 'pipeline',
    params: Target,
    body: z.object({ filters: Filters.default({}) }),
    replies: { 200: PublicTrigger },
    async handle({ params: { event, pipeline }, body: { filters }, actor, settle }) {
      const source = requireSource(app, decodeUri(event))
      const uri = toUri(app.accountId, source)
      const known = (await findTriggers(app, { pipeline })).find((one) => one.event === uri)
      if (known !== undefined) return ok(known)
      const pipelineId = (await findListedPipeline(app, { pipeline })) ?? ''
      const answer = ok({ event: uri, pipeline: pipelineId, filters })
      const within = (tx: Tx): Promise<void> => settle(tx, answer)
      const authorize = requireWrite(app, actor)
      const target = { pipeline: pipelineId, name: `${source.type}-${sha256(uri).slice(0, 12)}` }
      if (source.type === 'cron') await createCronTrigger(app, { input: toCron(source, target), authorize }, within)
      else await createEventTrigger(app, { input: toEvent(source, { ...target, ...filters }), authorize }, within)
      return answer
    },
  })
}

function deleteRoute(app: App): Route {
  return route('DELETE', '/api/hermes/triggers/{event}/{pipeline}', {
    summary: 'Delete the triggers that let an event start a pipeline; those of a document can only be deleted there',
    ...writes,
    project: 'pipeline',
    params: Target,
    replies: { 204: 'nothing' },
    async handle({ params: { event, pipeline } }) {
      const uri = decodeUri(event)
      const found = (await findTriggers(app, { pipeline })).filter((one) => one.event === uri)
      if (found.length === 0) throw fault('not-found', { message: `The event ${uri} does not start the pipeline "${pipeline}".` })
      for (const { id, source } of found)
        await (source.type === 'cron' ? removeCronTrigger(app, id) : removeEventTrigger(app, id))
      return done
    },
  })
}

interface New {
  /** Id. */
  readonly pipeline: string
  readonly name: string
  readonly tag?: string | undefined
}

type CronSource = Extract<EventSource, { type: 'cron' }>

function toCron({ expression, message }: CronSource, { pipeline, name }: New): z.output<typeof CronTriggerInput> {
  return requireShape(CronTriggerInput, { pipeline, name, expression, message })
}

function toEvent(source: Exclude<EventSource, CronSource>, { pipeline, name, tag }: New): z.output<typeof EventTriggerInput> {
  const of = { type: source.type, pipeline, name }
  if (source.type === 'build') return requireShape(EventTriggerInput, { ...of, source: source.pipeline })
  const filtered = source.type === 'helm' ? { chart: source.name, version: tag } : { image: source.name, tag }
  return requireShape(EventTriggerInput, { ...of, ...filtered })
}

/** Returns what a URI names. Throws `not-found` for one that is not an event of the account. */
export function requireSource({ accountId }: Pick<App, 'accountId'>, uri: string): EventSource {
  const source = readUri(accountId, uri)
  if (source !== undefined) return source
  throw fault('not-found', {
    message: `The event ${uri} does not exist.`,
    hint: 'Use a URI that `codefresh create trigger-event` or `codefresh get trigger-events` prints.',
  })
}

/** Clients encode the URI in a path once or twice. Every URI contains a colon. */
export function decodeUri(text: string): string {
  if (text.includes(':')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw fault('request-invalid', { message: 'The event in the path is not a URI of an event.' })
  }
}
