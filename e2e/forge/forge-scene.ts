/** A real forge with a repository of `ann`, and a server that may call it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import type { Build, Delivery } from '@windlass/protocol'
import { expect } from 'vitest'
import { openSandbox, startUp, type Sandbox, type Up } from '../../packages/cli/test/support.ts'
import { containerHost } from '../support/docker.ts'
import { startGitea, type Gitea, type GiteaUser } from '../support/gitea.ts'
import { endOf } from '../codefresh-cli/client.ts'
import { cloneAs, type WorkTree } from './work-tree.ts'

export interface ForgeScene extends AsyncDisposable {
  readonly sandbox: Sandbox
  readonly up: Up
  readonly forge: Gitea
  /** Owner of `ann/app`. */
  readonly ann: GiteaUser
  readonly client: ApiClient
  /** Work tree of `ann/app`. */
  readonly tree: WorkTree
  /** Applies documents with the command line. */
  apply(documents: readonly object[]): Promise<void>
  /** Waits for a processed delivery for which `isWanted` holds. */
  delivered(isWanted: (delivery: Delivery) => boolean): Promise<Delivery>
  /** Waits for the end of a build. */
  ended(id: string): Promise<Build>
}

interface ForgeSceneOptions {
  readonly isPrivate: boolean
  /** Lifetime of the access tokens of OAuth apps, seconds. */
  readonly tokenSeconds?: number
}

export async function openForgeScene({ isPrivate, tokenSeconds }: ForgeSceneOptions): Promise<ForgeScene> {
  await using closing = new AsyncDisposableStack()
  const sandbox = closing.use(await openSandbox())
  const host = await containerHost()
  // The server may call the forge, whose address is private.
  process.env['WINDLASS_SERVER_OUTBOUND_NETWORKS'] = host
  const up = closing.use(await startUp(sandbox))
  const client = openClient({ url: up.url, token: up.adminKey, transport: nodeTransport() })
  const forge = closing.use(await startGitea({ host, ...(tokenSeconds !== undefined && { tokenSeconds }) }))
  const ann = await forge.addUser('ann')
  await ann.api('POST', '/user/repos', { name: 'app', private: isPrivate, default_branch: 'main', auto_init: true })
  const tree = closing.use(await cloneAs(ann, `${forge.url}/ann/app.git`))
  const opened = closing.move()
  return {
    sandbox,
    up,
    forge,
    ann,
    client,
    tree,
    async apply(documents) {
      const file = join(sandbox.folder, 'documents.yml')
      await writeFile(file, documents.map((document) => JSON.stringify(document)).join('\n---\n'))
      expect(await sandbox.run(['apply', '-f', file])).toMatchObject({ code: 0 })
    },
    async delivered(isWanted) {
      let found: Delivery | undefined
      const read = async (): Promise<Delivery | undefined> => {
        found = (await client.deliveries.list()).items.find((one) => one.status !== 'received' && isWanted(one))
        return found
      }
      await expect.poll(read).toBeDefined()
      return client.deliveries.get((found as Delivery).id)
    },
    ended: (id) => endOf(client, id),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
