/** Events outside of Git, and their types, for public clients. An event exists if a trigger names it; creating one returns the URI that a trigger needs. */
import { fault } from '@windlass/kit'
import { CronTriggerInput } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { placesOf } from '../../../identity/actor.ts'
import { problemOf } from '../../../triggers/cron/read-cron-triggers.ts'
import { ok, requireShape, route, type Route } from '../../route.ts'
import { accountHash, KINDS, toUri, type EventSource } from './event-uri.ts'
import { decodeUri, findTriggers, requireSource } from './trigger-routes.ts'

const reads = { allow: 'see-pipelines', scope: 'pipeline:read', project: 'handler' } as const

const Text = z.string().max(1_000)

const PublicEvent = z.object({
  uri: z.string(),
  type: z.string(),
  kind: z.string(),
  account: z.string(),
  /** Empty: the webhook of a registry has the secret. */
  secret: z.string(),
  status: z.literal('active'),
  /** Empty: the webhook of a registry has the address. */
  endpoint: z.string(),
  description: z.string(),
  help: z.string(),
})

const PublicType = z.object({
  type: z.string(),
  kind: z.string(),
  'uri-template': z.string(),
  'uri-regex': z.string(),
  'help-url': z.string(),
  config: z.array(z.object({ name: z.string(), type: z.literal('string'), required: z.boolean() })),
  filters: z.array(z.object({ name: z.string(), type: z.literal('string'), required: z.literal(false) })),
})
type PublicType = z.output<typeof PublicType>

const required = (...names: string[]): PublicType['config'] => names.map((name) => ({ name, type: 'string', required: true }))
const TAG: PublicType['filters'] = [{ name: 'tag', type: 'string', required: false }]
const IMAGE = { 'help-url': '', config: required('name'), filters: TAG }

const TYPES: readonly PublicType[] = [
  {
    type: 'cron',
    kind: KINDS.cron,
    'uri-template': 'cron:codefresh:{{expression}}:{{message}}',
    'uri-regex': '^cron:codefresh:[^:]+:.+$',
    'help-url': '',
    config: required('expression', 'message'),
    filters: [],
  },
  {
    type: 'registry',
    kind: KINDS.registry,
    'uri-template': 'registry:any:{{namespace}}:{{name}}:push',
    'uri-regex': '^registry:any:[^:]*:[^:]+:push$',
    ...IMAGE,
  },
  {
    type: 'helm',
    kind: KINDS.helm,
    'uri-template': 'helm:any:{{namespace}}:{{name}}:push',
    'uri-regex': '^helm:any:[^:]*:[^:]+:push$',
    ...IMAGE,
  },
  {
    type: 'build',
    kind: KINDS.build,
    'uri-template': 'build:any:{{pipeline}}:finished',
    'uri-regex': '^build:any:.+:finished$',
    'help-url': '',
    config: required('pipeline'),
    filters: [],
  },
]

export function publicEventRoutes(app: App): Route[] {
  return [
    route('GET', '/api/hermes/events', {
      summary: 'List the events that start pipelines',
      ...reads,
      // Clients also send `public`, which adds public events. There are none.
      query: z.object({ type: Text.optional(), kind: Text.optional(), filter: Text.optional() }),
      replies: { 200: z.array(PublicEvent) },
      async handle({ query: { type, kind, filter = '' }, actor }) {
        const sources = new Map(
          (await findTriggers(app, { places: placesOf(actor, reads.allow) })).map(({ event, source }) => [event, source]),
        )
        const found = [...sources.values()].filter(
          (one) => (type ?? one.type) === one.type && (kind ?? KINDS[one.type]) === KINDS[one.type],
        )
        return ok(found.map((source) => describe(app, source)).filter(({ uri }) => uri.includes(filter)))
      },
    }),
    route('GET', '/api/hermes/events/{uri}', {
      summary: 'Show an event',
      ...reads,
      params: z.object({ uri: z.string().min(1).max(1_500) }),
      replies: { 200: PublicEvent },
      handle: async ({ params: { uri } }) => ok(describe(app, requireSource(app, decodeUri(uri)))),
    }),
    route('POST', '/api/hermes/events', {
      summary: 'Return the URI of an event, for a trigger. Nothing is stored until a trigger names it',
      allow: 'change-pipelines',
      scope: 'pipeline:write',
      project: 'handler',
      body: z.object({ type: Text, kind: Text, values: z.record(Text, Text).default({}) }),
      replies: { 200: z.string() },
      handle: async ({ body }) =>
        ok(JSON.stringify(toUri(app.accountId, readSource(body))), { 'content-type': 'application/json' }),
    }),
    ...typeRoutes(),
  ]
}

function typeRoutes(): Route[] {
  return [
    route('GET', '/api/hermes/types', {
      summary: 'List the types of events',
      ...reads,
      replies: { 200: z.array(PublicType) },
      handle: async () => ok(TYPES),
    }),
    route('GET', '/api/hermes/types/{type}/{kind}', {
      summary: 'Show a type of events',
      ...reads,
      params: z.object({ type: Text, kind: Text }),
      replies: { 200: PublicType },
      handle: async ({ params }) => ok(requireType(params)),
    }),
  ]
}

function requireType({ type, kind }: { readonly type: string; readonly kind: string }): PublicType {
  const found = TYPES.find((one) => one.type === type && one.kind === kind)
  if (found !== undefined) return found
  throw fault('not-found', {
    message: `The type of events ${type} ${kind} does not exist.`,
    hint: `Use ${TYPES.map((one) => `${one.type} ${one.kind}`).join(', ')}.`,
  })
}

interface Written {
  readonly type: string
  readonly kind: string
  readonly values: Readonly<Record<string, string>>
}

/** Returns the event of a request. Throws `not-found` for an unknown type, and `request-invalid`. */
function readSource({ type, kind, values }: Written): EventSource {
  const { config } = requireType({ type, kind })
  const missing = config.find(({ name }) => (values[name] ?? '') === '')
  if (missing !== undefined) throw fault('request-invalid', { message: `The value "${missing.name}" of the event is missing.` })
  const { expression = '', message = '', pipeline = '', namespace = '', name = '' } = values
  if (type === 'build') return { type, pipeline }
  if (type !== 'cron')
    return { type: type === 'helm' ? 'helm' : 'registry', name: namespace === '' ? name : `${namespace}/${name}` }
  const source = { type, expression: withoutSeconds(expression), message } as const
  const why = problemOf(requireShape(CronTriggerInput, { ...source, pipeline: 'any', name: 'any' }))
  if (why !== undefined) throw fault('request-invalid', { message: `The event can never happen: ${why}.` })
  return source
}

/** Expressions of public clients begin with a field for seconds if they have six fields. In those of cron triggers the sixth one is the year. */
function withoutSeconds(expression: string): string {
  const [seconds, ...fields] = expression.trim().split(/\s+/)
  if (fields.length !== 5) return expression
  if (seconds === '0') return fields.join(' ')
  throw fault('request-invalid', {
    message: `The expression "${expression}" has a field for seconds that is not 0.`,
    hint: 'Builds start at most once a minute.',
  })
}

function describe({ accountId }: Pick<App, 'accountId'>, source: EventSource): z.output<typeof PublicEvent> {
  return {
    uri: toUri(accountId, source),
    type: source.type,
    kind: KINDS[source.type],
    account: accountHash(accountId),
    secret: '',
    status: 'active',
    endpoint: '',
    ...explain(source),
  }
}

function explain(source: EventSource): { readonly description: string; readonly help: string } {
  switch (source.type) {
    case 'cron':
      return { description: `${source.expression} with the message "${source.message}"`, help: '' }
    case 'build':
      return { description: `a build of ${source.pipeline} ended`, help: '' }
    default: {
      const what = source.type === 'helm' ? 'chart' : 'image'
      const help = `The registry must call a webhook of the server: windlass create webhook NAME --registry KIND`
      return { description: `the ${what} ${source.name} was pushed`, help }
    }
  }
}
