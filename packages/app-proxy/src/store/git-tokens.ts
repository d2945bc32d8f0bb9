/** The Git tokens of users. Each is an encrypted record in a Secret in the namespace of the runtime, and leaves the process only to its forge. */
import { fault, isFault, type Logger } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import { z } from 'zod'
import { NAME_LABEL, putObject, TYPE_LABEL, type Integration } from './integrations.ts'
import type { KeyRing } from './keys.ts'

const USER_LABEL = 'windlass.io/user'
/** The runtime itself, in the place of the id of a user, which has 24 hex digits. */
export const RUNTIME_USER = 'runtime'

const GitToken = z.object({
  /** URL of the forge that the token is for. An integration that is changed to another forge must not get it. */
  url: z.string(),
  token: z.string(),
  /** User name that the forge wants with the token. */
  username: z.string().optional(),
  /** The user of the token at the forge. */
  login: z.string(),
  name: z.string().optional(),
  email: z.string().optional(),
  registeredAt: z.number(),
})
export type GitToken = z.infer<typeof GitToken>

const SecretData = z.object({ token: z.string() })

type Forge = Pick<Integration, 'name' | 'url'>

export interface GitTokens {
  /** Stores the token of a user, instead of an earlier one. */
  put(integration: string, userId: string, token: GitToken): Promise<void>
  /** Returns the token; undefined if the user has none for this forge, or if no key decrypts it. */
  find(integration: Forge, userId: string): Promise<GitToken | undefined>
  /** Throws `git-token-missing`. */
  get(integration: Forge, userId: string): Promise<GitToken>
  /** Deletes the token. Returns false if the user has none. */
  remove(integration: string, userId: string): Promise<boolean>
  /** Lists the ids of the users with a token, by integration. */
  users(): Promise<ReadonlyMap<string, readonly string[]>>
  /** Returns the number of tokens, and of those that no key decrypts. */
  count(): Promise<{ readonly count: number; readonly locked: number }>
  /** Deletes the tokens of all users. Returns their number. */
  removeAll(integration: string): Promise<number>
  /** Encrypts the tokens again that have an earlier key. Returns true if all that can be read have the current key. */
  reseal(): Promise<boolean>
}

export interface GitTokensOptions {
  readonly kube: Kube
  readonly namespace: string
  readonly ring: KeyRing
  readonly log: Logger
}

export function openGitTokens({ kube, namespace, ring, log }: GitTokensOptions): GitTokens {
  const nameOf = (integration: string, userId: string): string => `git-${integration}-${userId}`
  const refTo = (name: string): ObjectRef => ({ kind: 'Secret', namespace, name })
  const all = { kind: 'Secret', namespace, labels: `${TYPE_LABEL}=git` } as const

  /** Returns the token, or why there is none. */
  async function look({ name, url }: Forge, userId: string): Promise<GitToken | 'absent' | 'locked'> {
    const secret = nameOf(name, userId)
    const sealed = readSealed(await kube.find(refTo(secret)))
    if (sealed === undefined) return 'absent'
    const text = ring.open(secret, sealed)
    if (text === undefined) return 'locked'
    const token = GitToken.safeParse(JSON.parse(text)).data
    return token?.url === url ? token : 'absent'
  }

  /** Encrypts one record again, unless it changes at the same time. Returns false if it has to be looked at again. */
  async function resealOne(object: KubeObject): Promise<boolean> {
    const { name, resourceVersion } = object.metadata
    const sealed = readSealed(object)
    if (sealed === undefined || ring.isCurrent(sealed)) return true
    const text = ring.open(name, sealed)
    if (text === undefined) {
      log.warn({ secret: name }, 'a Git token cannot be decrypted; its user has to register it again')
      return true
    }
    try {
      await kube.patch(refTo(name), { metadata: { resourceVersion }, data: { token: toBase64(ring.seal(name, text)) } })
      return true
    } catch (error) {
      // Gone, or replaced by its user with the current key or by another replica.
      if (isFault(error, 'not-found')) return true
      if (isFault(error, 'conflict')) return false
      throw error
    }
  }

  return {
    async put(integration, userId, token) {
      const name = nameOf(integration, userId)
      const data = { token: toBase64(ring.seal(name, JSON.stringify(token))) }
      const labels = { [TYPE_LABEL]: 'git', [NAME_LABEL]: integration, [USER_LABEL]: userId }
      await putObject(
        kube,
        { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels }, type: 'Opaque', data },
        { data },
      )
    },
    async find(integration, userId) {
      const found = await look(integration, userId)
      return typeof found === 'string' ? undefined : found
    },
    async get(integration, userId) {
      const found = await look(integration, userId)
      if (typeof found !== 'string') return found
      const { name, url } = integration
      const register = `windlass gitops integration register RUNTIME ${name} --token-file FILE`
      throw fault(
        'git-token-missing',
        found === 'locked'
          ? {
              message: `Your Git token for the integration "${name}" is encrypted with another token of the GitOps runtime.`,
              hint: `If that was replaced just now, retry in a minute. Otherwise register your Git token again: ${register}`,
            }
          : {
              message: `You have not registered a Git token for the integration "${name}" at ${url}.`,
              hint: `Register your Git token: ${register}`,
            },
      )
    },
    remove: (integration, userId) => kube.delete(refTo(nameOf(integration, userId))),
    async users() {
      const found = new Map<string, string[]>()
      // Without the records: the list needs only labels.
      for (const { metadata } of await kube.list({ ...all, content: 'metadata' })) {
        const [integration, user] = [metadata.labels?.[NAME_LABEL], metadata.labels?.[USER_LABEL]]
        if (integration === undefined || user === undefined) continue
        found.set(integration, [...(found.get(integration) ?? []), user].toSorted())
      }
      return found
    },
    async count() {
      const sealed = (await kube.list(all)).map((object) => ({ name: object.metadata.name, text: readSealed(object) }))
      const locked = sealed.filter(({ name, text }) => text !== undefined && ring.open(name, text) === undefined)
      return { count: sealed.length, locked: locked.length }
    },
    async removeAll(integration) {
      const labels = `${all.labels},${NAME_LABEL}=${integration}`
      const found = await kube.list({ ...all, labels, content: 'metadata' })
      for (const { metadata } of found) await kube.delete(refTo(metadata.name))
      return found.length
    },
    async reseal() {
      let isDone = true
      for (const object of await kube.list(all)) isDone = (await resealOne(object)) && isDone
      return isDone
    },
  }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function readSealed(object: KubeObject | undefined): string | undefined {
  const data = SecretData.safeParse(object?.['data']).data
  return data === undefined ? undefined : Buffer.from(data.token, 'base64').toString('utf8')
}
