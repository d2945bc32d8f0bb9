/**
 * The fields of an Application of Argo CD that the server uses (`argoproj.io/v1alpha1`, https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/). Everything else is
 * dropped, such as the values of charts, which may have secrets. Texts are cut, because a runtime decides how long they are.
 */
import { z } from 'zod'
import { line, list, MAX_LINE, MAX_MESSAGE, MAX_NAME, newest, ObjectMetadata, text, time } from '../manifest-fields.ts'

/** Deployments of an application that are read. */
const MAX_HISTORY = 10
/** Objects of an application that are read. Our reporter sends no more. */
const MAX_OBJECTS = 5_000

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

export const ApplicationManifest = z.object({
  metadata: ObjectMetadata,
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
