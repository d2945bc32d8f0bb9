/** The Secret with the token of a GitOps runtime, and the mark that says whose it is. Other products have a Secret with the same name. */
import { createHash } from 'node:crypto'
import { defined } from '@windlass/kit/defined'
import { fault, isFault, type Fault } from '@windlass/kit/faults'
import type { Kube } from '@windlass/kube'
import { z } from 'zod'

/** Name and keys of the Secret. The original uses the same ones. */
export const TOKEN_SECRET = { name: 'codefresh-token', token: 'token', iv: 'encryptionIV' } as const

/** Annotations of the Secret: the name of the runtime, and the URL of its server. */
const RUNTIME_ANNOTATION = 'windlass.io/gitops-runtime'
const SERVER_ANNOTATION = 'windlass.io/gitops-server'
const LABELS = { 'app.kubernetes.io/managed-by': 'windlass', 'codefresh.io/internal': 'true' }

/** Whose token a Secret has. */
export interface TokenOwner {
  readonly runtime: string
  /** URL of the server. */
  readonly server: string
}

export interface StoredToken {
  readonly token?: string | undefined
  /** Never changes: Git tokens of users cannot be decrypted with another one. */
  readonly iv?: string | undefined
  /** Undefined for a Secret that no command of this program has written. */
  readonly owner?: TokenOwner | undefined
  /** Version of the Secret. */
  readonly version?: string | undefined
}

export interface NewToken {
  readonly token: string
  readonly iv: string
  readonly owner: TokenOwner
}

export interface TokenStore {
  readonly name: string
  /** Resolves to undefined if the Secret does not exist. */
  read(): Promise<StoredToken | undefined>
  /** Keeps other keys of an existing Secret. Returns false, and writes nothing, if the Secret has changed since it was read. */
  write(values: NewToken, before: StoredToken | undefined): Promise<boolean>
  /** Copies the Secret as it is, so that it can be replaced. Returns the name of the copy, which is the same for the same token. */
  copy(): Promise<string>
}

const SecretShape = z.looseObject({
  data: z.record(z.string(), z.string()).nullish(),
  metadata: z.looseObject({
    annotations: z.record(z.string(), z.string()).optional(),
    resourceVersion: z.string().optional(),
  }),
})

export function openTokenStore(kube: Kube, namespace: string, name: string = TOKEN_SECRET.name): TokenStore {
  const ref = { kind: 'Secret', namespace, name } as const
  const find = async (): Promise<z.infer<typeof SecretShape> | undefined> => {
    const found = await kube.find(ref)
    return found && SecretShape.parse(found)
  }
  const create = (called: string, annotations: Record<string, string>, data: Record<string, string>): Promise<unknown> => {
    const metadata = { name: called, namespace, labels: LABELS, annotations }
    return kube.create({ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data })
  }
  return {
    name,
    async read() {
      const found = await find()
      if (found === undefined) return undefined
      const { [RUNTIME_ANNOTATION]: runtime, [SERVER_ANNOTATION]: server } = found.metadata.annotations ?? {}
      return {
        token: decoded(found.data?.[TOKEN_SECRET.token]),
        iv: decoded(found.data?.[TOKEN_SECRET.iv]),
        owner: runtime === undefined || server === undefined ? undefined : { runtime, server },
        version: found.metadata.resourceVersion,
      }
    },
    async write({ token, iv, owner }, before) {
      const annotations = { [RUNTIME_ANNOTATION]: owner.runtime, [SERVER_ANNOTATION]: toServer(owner.server) }
      const data = { [TOKEN_SECRET.token]: encoded(token), [TOKEN_SECRET.iv]: encoded(iv) }
      try {
        if (before === undefined) await create(name, annotations, data)
        else await kube.patch(ref, { metadata: { annotations, ...defined({ resourceVersion: before.version }) }, data })
        return true
      } catch (error) {
        if (isFault(error, 'conflict', 'not-found')) return false
        throw error
      }
    },
    async copy() {
      const found = await find()
      const data = found?.data ?? {}
      const digest = createHash('sha256').update(JSON.stringify(data)).digest('hex')
      const called = `${name}-replaced-${digest.slice(0, 10)}`
      await create(called, found?.metadata.annotations ?? {}, data).catch((error: unknown) => {
        if (!isFault(error, 'conflict')) throw error
      })
      return called
    },
  }
}

function encoded(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}

function decoded(value: string | undefined): string | undefined {
  const text = value === undefined ? '' : Buffer.from(value, 'base64').toString('utf8').trim()
  return text === '' ? undefined : text
}

function toServer(url: string): string {
  return url.replace(/\/+$/, '')
}

/** Returns true if the Secret says that its token is of this runtime. */
export function isOwnToken({ owner }: StoredToken, runtime: string, servers: readonly string[]): boolean {
  return owner?.runtime === runtime && servers.some((server) => toServer(server) === toServer(owner.server))
}

/** Returns what the Secret says about its owner, as a part of a sentence. */
export function describeOwner({ owner }: StoredToken): string {
  return owner === undefined
    ? 'has a token of an unknown installation'
    : `has the token of the GitOps runtime "${owner.runtime}" at ${owner.server}`
}

/** The Secret is of another installation. */
export function foreignToken(stored: StoredToken, store: Pick<TokenStore, 'name'>, { runtime, server }: TokenOwner): Fault {
  const annotate = `kubectl annotate secret ${store.name} ${SERVER_ANNOTATION}=${toServer(server)} --overwrite`
  return fault('conflict', {
    message: `The Secret ${store.name} of the namespace ${describeOwner(stored)}. It was not used.`,
    hint:
      stored.owner?.runtime === runtime
        ? `If the URL of the server has changed, say so with \`${annotate}\`.`
        : 'Choose another namespace. To replace the token and keep a copy, add `--recover`, or `installer.recover: true` in the chart.',
  })
}
