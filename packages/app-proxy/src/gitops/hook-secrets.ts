/** The Secrets with what a forge shows to the event source of a delivery pipeline. They are in the namespace of the runtime, and not in Git. */
import { randomBytes } from 'node:crypto'
import { DELIVERY_LABEL, HOOK_SECRET_KEY, hookSecretName } from '@windlass/gitops'
import { fault, isFault } from '@windlass/kit'
import { isAlreadyThere, type Kube, type ObjectRef } from '@windlass/kube'
import { z } from 'zod'
import { noteEffect } from '../audit/call.ts'

const TOKEN_BYTES = 32

export interface HookSecret {
  readonly token: string
  /** True if it did not exist before. */
  readonly isNew: boolean
  /** URL of the webhook that was made with the token; undefined if none was, or if that is not known. */
  readonly webhook: string | undefined
}

/** Whose webhook a Secret is for. The token must reach no other repository, also not one of the same name in another Git source. */
export interface HookOwner {
  readonly name: string
  readonly gitSource: string
  /** URL of the repository whose events start the pipeline. */
  readonly repository: string
}

export interface HookSecrets {
  /** Returns the Secret of a pipeline, which is created if there is none. Throws `conflict` for a Secret of its name that is another's. */
  ensure(owner: HookOwner): Promise<HookSecret>
  /** Notes that a webhook has the token. */
  noteWebhook(name: string, url: string): Promise<void>
  /** Deletes the Secret of a pipeline that was not committed. One that stays does no harm: a later call takes it. */
  remove(name: string): Promise<void>
}

const GIT_SOURCE = 'windlass.io/git-source'
const REPOSITORY = 'windlass.io/repository'
const WEBHOOK = 'windlass.io/webhook'

const Stored = z.looseObject({ data: z.record(z.string(), z.string()).nullish() })

export function openHookSecrets(kube: Kube, namespace: string): HookSecrets {
  const refTo = (name: string): ObjectRef => ({ kind: 'Secret', namespace, name: hookSecretName(name) })

  async function find({ name, gitSource, repository }: HookOwner): Promise<HookSecret | undefined> {
    const found = await kube.find(refTo(name))
    if (found === undefined) return undefined
    const encoded = Stored.safeParse(found).data?.data?.[HOOK_SECRET_KEY] ?? ''
    const token = Buffer.from(encoded, 'base64').toString()
    const { labels, annotations } = found.metadata
    const isOurs = labels?.[DELIVERY_LABEL] === name && token !== ''
    if (isOurs && annotations?.[GIT_SOURCE] === gitSource && annotations[REPOSITORY] === repository)
      return { token, isNew: false, webhook: annotations[WEBHOOK] }
    throw fault('conflict', {
      message: `The Secret "${hookSecretName(name)}" in the namespace of the runtime is not that of this repository and Git source.`,
      hint: 'Use another name for the pipeline. If it was moved, remove the Secret.',
    })
  }

  return {
    async ensure(owner) {
      const { name, gitSource, repository } = owner
      const before = await find(owner)
      if (before !== undefined) return before
      const token = randomBytes(TOKEN_BYTES).toString('hex')
      noteEffect()
      try {
        await kube.create({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: {
            name: hookSecretName(name),
            namespace,
            labels: { [DELIVERY_LABEL]: name },
            annotations: { [GIT_SOURCE]: gitSource, [REPOSITORY]: repository },
          },
          data: { [HOOK_SECRET_KEY]: Buffer.from(token).toString('base64') },
        })
        return { token, isNew: true, webhook: undefined }
      } catch (error) {
        // Another call has made it meanwhile.
        const other = isAlreadyThere(error) ? await find(owner) : undefined
        if (other === undefined) throw error
        return other
      }
    },
    async noteWebhook(name, url) {
      await kube.patch(refTo(name), { metadata: { annotations: { [WEBHOOK]: url } } })
    },
    async remove(name) {
      await kube.delete(refTo(name)).catch((error: unknown) => {
        if (!isFault(error)) throw error
      })
    },
  }
}
