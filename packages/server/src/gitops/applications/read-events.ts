/** Reads the body of a reporter: decompresses it within limits, and makes one form of both shapes of a payload. */
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { fault, hasCode, type JsonParts } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { EventsBody, MAX_EVENTS_BODY_BYTES, type EventPayload, type EventReporter, type FullState } from '@windlass/protocol'
import type { z } from 'zod'
import { parseJson, partsOf } from '../../http/bodies/json-body.ts'
import { requireShape } from '../../http/route.ts'
import { ObjectMetadata, oneLine, timeOf } from '../manifest-fields.ts'
import { reportedKindOf } from '../objects/manifest.ts'
import { readObject, type ObjectEvent } from '../objects/read-object.ts'
import { AnyManifest, ApplicationManifest, isApplication, type ApplicationManifest as Manifest } from './manifest.ts'

/** Declared path of the route, which decides about the limits of JSON. */
export const EVENTS_PATH = '/2.0/api/events'

const MAX_MESSAGE = 2_000

/** A state of an application, or its deletion. */
export interface ApplicationEvent {
  readonly namespace: string
  readonly name: string
  readonly uid: string | undefined
  /** Resource version of the state. */
  readonly version: string | undefined
  /** When the reporter read it. Epoch milliseconds of its clock. */
  readonly at: number
  /** When the application was created in the cluster. Epoch milliseconds. */
  readonly createdAt: number | undefined
  /** Undefined if the application is gone. */
  readonly manifest: Manifest | undefined
  readonly errors: readonly ReportedError[]
}

export interface ReportedError {
  readonly type: string
  readonly message: string
  readonly at: number | undefined
}

export interface EventReport {
  readonly events: readonly ApplicationEvent[]
  /** Those of rollouts, their ReplicaSets and workflows. */
  readonly objects: readonly ObjectEvent[]
  /** Payloads of other objects. */
  readonly others: number
  readonly reporter: EventReporter
  readonly fullState: FullState | undefined
}

const unzip = promisify(gunzip)

/** A reporter of other make has all applications. */
const ALL: EventReporter = { shard: 0, shards: 1 }

/** Reads a body. Throws `request-invalid` with the path of what is wrong, and `payload-too-large`. */
export async function readReport(bytes: Buffer, encoding: string | undefined): Promise<EventReport> {
  // The manifests are JSON in texts. They and the body around them have one limit together.
  const parts = partsOf(EVENTS_PATH)
  const body = requireShape(EventsBody, parseJson(await decode(bytes, encoding), EVENTS_PATH, parts))
  const reporter = body.reporter ?? ALL
  if (reporter.shard >= reporter.shards) throw invalid('reporter.shard', 'must be less than the number of shards')
  const read: ReadPayload[] = []
  for (const [index, payload] of body.data.entries()) {
    read.push(readPayload(payload, { path: `data.${index}`, parts }))
    // A manifest of thousands of resources takes a tenth of a second. Other requests go on in between.
    await setImmediate()
  }
  const events = read.flatMap(({ application }) => application ?? [])
  const objects = read.flatMap(({ object }) => object ?? [])
  return {
    events,
    objects,
    others: read.length - events.length - objects.length,
    reporter,
    fullState: body.fullState,
  }
}

async function decode(bytes: Buffer, encoding: string | undefined): Promise<string> {
  if (encoding === undefined || encoding === 'identity') return bytes.toString()
  if (encoding !== 'gzip') throw invalid('content-encoding', 'must be gzip or identity')
  try {
    return (await unzip(bytes, { maxOutputLength: MAX_EVENTS_BODY_BYTES })).toString()
  } catch (error) {
    if (hasCode(error, 'ERR_BUFFER_TOO_LARGE')) throw fault('payload-too-large')
    throw fault('request-invalid', { message: 'The body is not valid gzip.', hint: 'Send it without Content-Encoding.' }, error)
  }
}

interface Place {
  /** Place of the payload in the body. */
  readonly path: string
  readonly parts: JsonParts
}

/** The event of a payload. Neither for an object of a kind that is not stored. */
interface ReadPayload {
  readonly application?: ApplicationEvent
  readonly object?: ObjectEvent | undefined
}

function readPayload(payload: EventPayload, { path, parts }: Place): ReadPayload {
  const at = timeOf(payload.timestamp)
  if (at === undefined) throw invalid(`${path}.timestamp`, 'must be a time of RFC 3339')
  const { source } = payload
  // In the earlier shape the object is that in the cluster, unless its manifest says that it is gone.
  const given = payload.actualManifest ?? source?.actualManifest
  const object = payload.object === undefined || payload.object === null ? '' : Buffer.from(payload.object, 'base64').toString()
  const actual = given ?? object
  const named = [actual, object, payload.desiredManifest ?? source?.desiredManifest ?? ''].find((text) => text !== '')
  if (named === undefined) return { application: readGone(payload, { at, path }) }
  const manifest = readManifest(named, { path, parts })
  const isGone = actual === ''
  const kind = reportedKindOf(manifest)
  if (kind !== undefined)
    return { object: readObject({ kind, manifest, isGone, at }, (schema, value) => shapeOf(schema, value, path)) }
  if (!isApplication(manifest)) return {}
  const common = { at, errors: errorsOf(payload) }
  if (isGone) {
    const { name, namespace, uid, resourceVersion, creationTimestamp } = shapeOf(ObjectMetadata, manifest.metadata, path)
    return {
      application: {
        ...common,
        name,
        namespace,
        uid,
        version: resourceVersion,
        createdAt: creationTimestamp,
        manifest: undefined,
      },
    }
  }
  const full = shapeOf(ApplicationManifest, manifest, path)
  const { name, namespace, uid, resourceVersion, creationTimestamp } = full.metadata
  return {
    application: { ...common, name, namespace, uid, version: resourceVersion, createdAt: creationTimestamp, manifest: full },
  }
}

/** A payload without any object tells the end of the application that its source names. */
function readGone({ source }: EventPayload, { at, path }: { readonly at: number; readonly path: string }): ApplicationEvent {
  const metadata = { name: source?.appName, namespace: source?.appNamespace, uid: source?.appUID }
  const { name, namespace, uid } = shapeOf(ObjectMetadata, metadata, `${path}.source`)
  return { name, namespace, uid, version: undefined, at, createdAt: undefined, manifest: undefined, errors: [] }
}

function readManifest(text: string, { path, parts }: Place): z.output<typeof AnyManifest> {
  const value = parseJson(text, EVENTS_PATH, parts)
  if (!isRecord(value)) throw invalid(path, 'the manifest must be a JSON object')
  return shapeOf(AnyManifest, value, path)
}

function shapeOf<S extends z.ZodType>(schema: S, value: unknown, path: string): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalid([path, ...(issue?.path ?? [])].join('.'), issue?.message ?? 'the manifest is not valid')
}

function errorsOf({ errors }: EventPayload): ReportedError[] {
  return (errors ?? []).map(({ type, message, lastSeen }) => ({
    type: oneLine(type, 100),
    message: oneLine(message, MAX_MESSAGE),
    at: timeOf(lastSeen),
  }))
}

function invalid(path: string, message: string): Error {
  return fault('request-invalid', { message: `${path}: ${message}`, problems: [{ path, message }] })
}
