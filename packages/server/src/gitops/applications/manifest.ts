/**
 * The fields of an Application of Argo CD that the server uses (`argoproj.io/v1alpha1`, https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/). Everything else is
 * dropped, such as the values of charts, which may have secrets. Texts are cut, because a runtime decides how long they are.
 */
import { z } from 'zod'

/** Longest texts that are stored. Characters. */
const MAX_NAME = 253
const MAX_LINE = 500
const MAX_MESSAGE = 2_000
/** Maximum number of entries of lists that are stored. */
const MAX_LIST = 100
/** Deployments of an application that are read. */
const MAX_HISTORY = 10
/** Objects of an application that are read. Our reporter sends no more. */
const MAX_OBJECTS = 5_000

/** A text of one line. Control characters would move what a terminal shows, and PostgreSQL stores no NUL. */
export function oneLine(value: string, longest: number): string {
  const text = value.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`
}

/** An absent, null or empty text is undefined. */
const text = (longest: number) =>
  z
    .string()
    .nullish()
    .transform((value) => (value === null || value === undefined || value === '' ? undefined : oneLine(value, longest)))

/** The list is cut before its items are validated, because a runtime decides how many there are. */
const list = <T extends z.ZodType>(item: T, longest = MAX_LIST) =>
  z
    .custom<readonly unknown[]>((items) => Array.isArray(items), { error: 'must be a list' })
    .nullish()
    .transform((items) => (items ?? []).slice(0, longest))
    .pipe(z.array(item))

/** The end of a list, which has what is newest. */
const newest = <T extends z.ZodType>(item: T, longest: number) =>
  z
    .custom<readonly unknown[]>((items) => Array.isArray(items), { error: 'must be a list' })
    .nullish()
    .transform((items) => (items ?? []).slice(-longest))
    .pipe(z.array(item))

/** Texts of a list. */
const line = (longest: number) => z.string().transform((value) => oneLine(value, longest))

/** RFC 3339. What is not a time is absent. */
const time = z
  .string()
  .nullish()
  .transform((value) => timeOf(value))

/** Returns the time of an RFC 3339 text, epoch milliseconds; undefined if it is not one, or before 1970. */
export function timeOf(value: string | null | undefined): number | undefined {
  const at = Date.parse(value ?? '')
  return Number.isNaN(at) || at < 0 ? undefined : at
}

/** Names as Kubernetes has them; they identify the object and are not cut. */
const Identity = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i, 'must be the name of a Kubernetes object')

const Health = z
  .object({ status: text(50), message: text(MAX_MESSAGE) })
  .nullish()
  .transform((health) => health ?? { status: undefined, message: undefined })

const Source = z.object({
  repoURL: text(MAX_LINE),
  path: text(MAX_LINE),
  targetRevision: text(MAX_NAME),
  chart: text(MAX_NAME),
  name: text(MAX_NAME),
})

const Resource = z.object({
  group: text(MAX_NAME),
  kind: text(MAX_NAME),
  namespace: text(MAX_NAME),
  name: text(MAX_NAME),
  status: text(50),
  health: Health,
  hook: z.boolean().nullish(),
  requiresPruning: z.boolean().nullish(),
})
export type ManifestResource = z.output<typeof Resource>

/** What a sync did to one object. */
const SyncResult = z.object({
  kind: text(MAX_NAME),
  namespace: text(MAX_NAME),
  name: text(MAX_NAME),
  status: text(50),
  hookPhase: text(50),
  message: text(MAX_MESSAGE),
})

const Operation = z.object({
  phase: text(50),
  message: text(MAX_MESSAGE),
  startedAt: time,
  finishedAt: time,
  retryCount: z.int().nonnegative().nullish(),
  operation: z.object({ initiatedBy: z.object({ username: text(MAX_NAME) }).nullish() }).nullish(),
  syncResult: z
    .object({ revision: text(MAX_NAME), revisions: list(line(MAX_NAME), 20), resources: list(SyncResult, MAX_OBJECTS) })
    .nullish(),
})

/** A deployment in the history of an application. Argo CD keeps ten, unless an application says otherwise. */
const Deployed = z.object({
  id: z.int().nonnegative(),
  revision: text(MAX_NAME),
  revisions: list(line(MAX_NAME), 20),
  deployedAt: time,
  initiatedBy: z.object({ username: text(MAX_NAME) }).nullish(),
})

const Status = z.object({
  health: Health,
  sync: z.object({ status: text(50), revision: text(MAX_NAME), revisions: list(line(MAX_NAME), 20) }).nullish(),
  conditions: list(z.object({ type: text(100), message: text(MAX_MESSAGE), lastTransitionTime: time })),
  operationState: Operation.nullish(),
  history: newest(Deployed, MAX_HISTORY),
  resources: list(Resource, MAX_OBJECTS),
  summary: z.object({ images: list(line(MAX_LINE)) }).nullish(),
})

/** Labels of an object that are stored. Kubernetes limits their lengths, and a runtime may not. */
const MAX_LABELS = 30

const Labels = z
  .record(z.string(), z.string())
  .nullish()
  .transform((labels) =>
    Object.fromEntries(
      Object.entries(labels ?? {})
        .slice(0, MAX_LABELS)
        .map(([key, value]) => [oneLine(key, 317), oneLine(value, 63)] as const),
    ),
  )

export const ApplicationMetadata = z.object({
  name: Identity,
  namespace: Identity.nullish().transform((namespace) => namespace ?? ''),
  uid: text(100),
  resourceVersion: text(100),
  creationTimestamp: time,
  deletionTimestamp: time,
  labels: Labels,
  annotations: z
    .record(z.string(), z.string())
    .nullish()
    .transform((annotations) => annotations ?? {}),
})
export type ApplicationMetadata = z.output<typeof ApplicationMetadata>

export const ApplicationManifest = z.object({
  metadata: ApplicationMetadata,
  spec: z.object({
    project: text(MAX_NAME),
    source: Source.nullish(),
    sources: list(Source, 20),
    destination: z
      .object({ server: text(MAX_LINE), name: text(MAX_NAME), namespace: text(MAX_NAME) })
      .nullish()
      .transform((destination) => destination ?? { server: undefined, name: undefined, namespace: undefined }),
    syncPolicy: z.object({ automated: z.object({ enabled: z.boolean().nullish() }).nullish() }).nullish(),
  }),
  status: Status.nullish().transform((status) => status ?? Status.parse({})),
})
export type ApplicationManifest = z.output<typeof ApplicationManifest>

/** Whether a manifest is of an application, and which one. */
export const AnyManifest = z.looseObject({
  apiVersion: z.string().max(MAX_NAME),
  kind: z.string().max(MAX_NAME),
  metadata: z.looseObject({}),
})

/** Returns true for an application of Argo CD, of any version. */
export function isApplication({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): boolean {
  return kind === 'Application' && apiVersion.startsWith('argoproj.io/')
}
