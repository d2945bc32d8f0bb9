/** Routes that the Codefresh CLI and chart call to install a Runner. They map to the same functions as `/v1`. */
import { defined, fault, splitList } from '@windlass/kit'
import { Id, RuntimeInput, type Cluster } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { signCertificate } from '../../../certificates/certificates.ts'
import { addCluster, listClusters, removeCluster } from '../../../clusters/clusters.ts'
import { nameOf } from '../../../identity/actor.ts'
import { addInstallationEvent, beginInstallation, showInstallation } from '../../../installations/installations.ts'
import { putRuntime } from '../../../runtimes/runtimes.ts'
import { findRuntime } from '../../../store/runtimes/runtimes.ts'
import { done, ok, route, type Answer, type Route } from '../../route.ts'
import { zip } from '../builds/zip.ts'

const ById = z.object({ id: z.string().min(1).max(300) })
const Text = z.string().max(1000)

const Registration = z.object({
  runtimeEnvironmentName: Text.min(1),
  clusterName: Text.optional(),
  namespace: Text.min(1),
  storageClassName: Text.optional(),
  serviceAccount: Text.optional(),
  nodeSelector: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  dockerDaemonScheduler: z.object({ userAccess: z.boolean().optional() }).optional(),
})

/** Converts a registration to the input of a Kubernetes runtime. Omitted fields get the defaults. */
function toRuntime(body: z.output<typeof Registration>): RuntimeInput {
  const { namespace, serviceAccount, nodeSelector, annotations, storageClassName: storage } = body
  const cluster = { namespace, ...(serviceAccount && { serviceAccount }), ...(nodeSelector && { nodeSelector }) }
  return RuntimeInput.parse({
    name: body.runtimeEnvironmentName,
    spec: {
      runtimeScheduler: { cluster, ...(annotations && { annotations }) },
      dockerDaemonScheduler: {
        ...(annotations && { annotations }),
        ...(body.dockerDaemonScheduler?.userAccess !== undefined && { userAccess: body.dockerDaemonScheduler.userAccess }),
        ...(storage && { pvcs: { dind: { storageClassName: storage } } }),
      },
    },
  })
}

function registrationRoutes(app: App): Route[] {
  return [
    route('POST', '/api/custom_clusters/register', {
      summary: 'Create a runtime environment for an agent',
      allow: 'manage-runners',
      scope: 'runtime:write',
      body: Registration,
      replies: { 200: z.looseObject({}) },
      async handle({ body, actor }) {
        const input = toRuntime(body)
        const before = await findRuntime(app.store.query, app.accountId, input.name)
        // Public clients repeat calls. Repeating the same registration changes nothing.
        if (before !== undefined && before.layer !== JSON.stringify(input.spec))
          throw fault('conflict', { message: `Runtime environment "${input.name}" already exists.` })
        const changedBy = nameOf(actor)
        const { runtime } = await putRuntime(app, {
          input: { ...input, ...(before?.agent && { agent: before.agent }) },
          changedBy,
        })
        const { name, id, version } = runtime
        return ok({ _id: id, accountId: app.accountId, version, metadata: { name, agent: true, changedBy }, ...input.spec })
      },
    }),
    route('POST', '/api/custom_clusters/signServerCerts', {
      summary: 'Sign the certificate of the Docker daemons of a namespace; returns a ZIP archive',
      allow: 'runner',
      scope: 'certificate:write',
      body: z.object({ reqSubjectAltName: z.string().max(20_000), csr: z.string().max(16_384) }),
      replies: { 200: 'text' },
      async handle({ body }) {
        const names = splitList(body.reqSubjectAltName)
        const { ca, certificate } = await signCertificate(app, { csr: body.csr, names })
        const archive = zip([
          { name: 'cf-ca.pem', text: ca },
          { name: 'cf-server-cert.pem', text: certificate },
        ])
        return { status: 200, body: archive, headers: { 'content-type': 'application/zip' } }
      },
    }),
  ]
}

const Progress = z.looseObject({})

function progressRoutes(app: App): Route[] {
  return [
    route('POST', '/api/runner-installation', {
      summary: 'Start to report the progress of an installation',
      allow: 'manage-runners',
      scope: 'installation:write',
      body: z.looseObject({ options: z.looseObject({}).optional() }),
      replies: { 200: Progress },
      async handle({ body, settle }) {
        const options = Object.fromEntries(
          Object.entries(body.options ?? {})
            .flatMap(toOption)
            .slice(0, MAX_OPTIONS),
        )
        const answer = ({ id }: { readonly id: string }): Answer => ok({ id, progress: { id } })
        return answer(await beginInstallation(app, { options }, (tx, installation) => settle(tx, answer(installation))))
      },
    }),
    route('GET', '/api/runner-installation/{id}', {
      summary: 'Show the progress of an installation',
      allow: 'see-runners',
      scope: 'installation:read',
      params: ById,
      replies: { 200: Progress },
      async handle({ params }) {
        const { id, status, events, options } = await showInstallation(app, params.id)
        const shown = events.map(({ event, status: result, message, at }) => ({
          event,
          content: { status: result, ...defined({ message }) },
          date: new Date(at).toISOString(),
        }))
        return ok({ _id: id, id, status, events: shown, options })
      },
    }),
    route('PATCH', '/api/runner-installation/{id}', {
      summary: 'Report a step of an installation',
      allow: 'manage-runners',
      scope: 'installation:write',
      params: ById,
      body: z.object({
        event: z.string().max(100),
        content: z.looseObject({ status: z.string().max(100).optional() }).optional(),
      }),
      replies: { 200: Progress },
      async handle({ params, body: { event, content } }) {
        const status = content?.status === undefined || /^success/i.test(content.status) ? 'success' : 'failure'
        const word = event.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
        const { id } = await addInstallationEvent(app, params.id, { event: word, status, ...messageIn(content) })
        return ok({ id, progress: { id } })
      },
    }),
  ]
}

const MAX_OPTIONS = 100
const MAX_MESSAGE = 8192

/** Converts an option that a user gave. Drops options that look like secrets. */
function toOption([name, value]: [string, unknown]): [string, string | number | boolean][] {
  if (/token|password|secret|key/i.test(name)) return []
  if (typeof value === 'string') return [[name.slice(0, 100), value.slice(0, 1000)]]
  return typeof value === 'number' || typeof value === 'boolean' ? [[name.slice(0, 100), value]] : []
}

function messageIn(content: Readonly<Record<string, unknown>> | undefined): { message?: string } {
  const text = content?.['message'] ?? content?.['error']
  return typeof text === 'string' ? { message: text.slice(0, MAX_MESSAGE) } : {}
}

const PublicCluster = z.object({
  _id: Id,
  selector: z.string(),
  provider: z.string(),
  providerAgent: z.string(),
  behindFirewall: z.boolean(),
})

function toPublic({ id: _id, name: selector, provider, behindFirewall }: Cluster): z.output<typeof PublicCluster> {
  return { _id, selector, provider, providerAgent: 'custom', behindFirewall }
}

function clusterRoutes(app: App): Route[] {
  return [
    route('GET', '/api/clusters', {
      summary: 'List clusters that deploy steps can use',
      allow: 'see-runners',
      scope: 'cluster:read',
      replies: { 200: z.array(PublicCluster) },
      async handle() {
        return ok((await listClusters(app)).map(toPublic))
      },
    }),
    route('POST', '/api/clusters/{provider}/cluster', {
      summary: 'Add a cluster by the token of a service account',
      allow: 'manage-runners',
      scope: 'cluster:write',
      params: z.object({ provider: z.string().min(1).max(60) }),
      body: z.object({
        selector: Text.min(1),
        host: z.url().max(500),
        clientCa: z.string().max(200_000).optional(),
        serviceAccountToken: z.string().min(1).max(40_000),
        behindFirewall: z.boolean().default(false),
      }),
      replies: { 200: PublicCluster },
      async handle({ params, body, settle, actor }) {
        const input = {
          name: body.selector,
          provider: params.provider,
          behindFirewall: body.behindFirewall,
          server: body.host,
          token: fromBase64(body.serviceAccountToken),
          ...(body.clientCa !== undefined && { ca: fromBase64(body.clientCa) }),
        }
        return ok(
          toPublic(
            await addCluster(app, input, { by: nameOf(actor), within: (tx, cluster) => settle(tx, ok(toPublic(cluster))) }),
          ),
        )
      },
    }),
    route('DELETE', '/api/clusters/{provider}/cluster/{id}', {
      summary: 'Remove a cluster from the server; the cluster itself does not change',
      allow: 'manage-runners',
      scope: 'cluster:write',
      params: ById.extend({ provider: z.string() }),
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeCluster(app, params.id)
        return done
      },
    }),
  ]
}

/** Decodes base64, as public clients send bytes. Returns a plain token or PEM unchanged. */
function fromBase64(text: string): string {
  const bytes = Buffer.from(text, 'base64')
  const isBase64 = /^[A-Za-z0-9+/\s]+=*\s*$/.test(text) && !/[^\t\n\r -~]/.test(bytes.toString('latin1'))
  return isBase64 ? bytes.toString('utf8') : text
}

export function installerRoutes(app: App): Route[] {
  return [...registrationRoutes(app), ...progressRoutes(app), ...clusterRoutes(app)]
}
