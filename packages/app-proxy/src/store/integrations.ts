/** The Git integrations of the runtime: which forges its users may use. Each is a ConfigMap in the namespace of the runtime. */
import { BROWSED_FORGES } from '@windlass/forges'
import { fault, type Fault } from '@windlass/kit'
import { isAlreadyThere, refOf, type Kube, type KubeObject, type ObjectRef } from '@windlass/kube'
import { HttpUrl, IntegrationName, SHARING_POLICIES } from '@windlass/protocol'
import { z } from 'zod'

/** Labels of Secrets and ConfigMaps of Git integrations, as the original names them. */
export const TYPE_LABEL = 'io.codefresh.integration-type'
export const NAME_LABEL = 'io.codefresh.integration-name'

const MAX_INTEGRATIONS = 100

export const IntegrationInput = z.strictObject({
  provider: z.enum(BROWSED_FORGES),
  /** URL of the forge as people open it, such as `https://github.com`. */
  url: HttpUrl,
  /** Who may use the integration. */
  sharingPolicy: z.enum(SHARING_POLICIES).default('ALL_USERS_IN_ACCOUNT'),
})
export const Integration = IntegrationInput.extend({ name: IntegrationName })
export type Integration = z.output<typeof Integration>

export interface Integrations {
  list(): Promise<Integration[]>
  /** Throws `not-found`. */
  get(name: string): Promise<Integration>
  /** Creates or replaces an integration. Throws `conflict` if there are too many. */
  put(integration: Integration): Promise<void>
  /** Returns false if there is none. */
  remove(name: string): Promise<boolean>
}

export function openIntegrations(kube: Kube, namespace: string): Integrations {
  const refTo = (name: string): ObjectRef => ({ kind: 'ConfigMap', namespace, name: `git-integration-${name}` })
  async function list(): Promise<Integration[]> {
    const found = await kube.list({ kind: 'ConfigMap', namespace, labels: `${TYPE_LABEL}=git` })
    return found.flatMap((object) => read(object) ?? []).toSorted((a, b) => a.name.localeCompare(b.name))
  }

  return {
    list,
    async get(name) {
      const object = await kube.find(refTo(name))
      const found = object && read(object)
      if (found === undefined) throw unknownIntegration(name)
      return found
    },
    async put({ name, ...fields }) {
      const { provider, url, sharingPolicy } = fields
      const data = { name, provider, url, sharingPolicy }
      const object: KubeObject = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: refTo(name).name, namespace, labels: { [TYPE_LABEL]: 'git', [NAME_LABEL]: name } },
        data,
      }
      if ((await kube.find(refTo(name))) === undefined && (await list()).length >= MAX_INTEGRATIONS)
        throw fault('conflict', {
          message: `The runtime has ${MAX_INTEGRATIONS} Git integrations.`,
          hint: 'Remove those that are not used.',
        })
      await putObject(kube, object, { data })
    },
    remove: (name) => kube.delete(refTo(name)),
  }
}

/** Creates an object, or changes the existing one with its name. */
export async function putObject(kube: Kube, object: KubeObject, change: Record<string, unknown>): Promise<void> {
  const { labels } = object.metadata
  try {
    await kube.create(object)
  } catch (error) {
    if (!isAlreadyThere(error)) throw error
    await kube.patch(refOf(object), { metadata: { labels }, ...change })
  }
}

export function unknownIntegration(name: string): Fault {
  return fault('not-found', {
    message: `The Git integration "${name}" does not exist.`,
    hint: 'List the integrations with GET /app-proxy/api/git-integrations.',
  })
}

/** Undefined for a ConfigMap that is not an integration, or one of a newer version. */
function read({ data }: KubeObject): Integration | undefined {
  return Integration.safeParse(data).data
}
