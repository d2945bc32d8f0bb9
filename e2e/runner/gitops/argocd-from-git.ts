/** Applications that come from Git: users commit their manifests through the app-proxy, and Argo CD applies them, from the shared configuration repository on. */
import { createClient } from '@windlass/protocol'
import { gitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { nodeTransport } from '@windlass/kit'
import { expect, inject } from 'vitest'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { joinGitea, type Forge, type GiteaUser } from '../../support/gitea.ts'
import type { ArgoScene } from './argocd-scene.ts'

export interface FromGit {
  readonly forge: Forge
  readonly ann: GiteaUser
  /** Runs `windlass gitops COMMAND prod …`. */
  run(words: string): Promise<{ readonly code: number; readonly text: string }>
  /** Writes a file of `ann/REPO` on a branch, which is made of `main` if it does not exist. */
  write(repo: string, path: string, content: string, branch?: string): Promise<void>
}

/** Lets Argo CD apply a shared configuration repository with the Git source `apps`. */
export async function openFromGit(scene: ArgoScene): Promise<FromGit> {
  const forge = joinGitea(inject('gitea'))
  const ann = await forge.addUser('ann')
  const call = async (path: string, body: object): Promise<void> => {
    const headers = { authorization: scene.http.adminToken, 'content-type': 'application/json' }
    const answer = await fetch(`${scene.proxyUrl}/app-proxy/api${path}`, { method: 'PUT', headers, body: JSON.stringify(body) })
    expect([path, answer.status]).toEqual([path, 200])
  }
  await call('/git-integrations/default', { provider: 'gitea', url: forge.url })
  await call('/git-integrations/default/token', { token: ann.token })
  for (const name of ['gitops', 'apps', 'shop'])
    await ann.api('POST', '/user/repos', { name, private: false, default_branch: 'main', auto_init: true })
  const run: FromGit['run'] = (words) => {
    const [group = '', command = '', ...rest] = words.split(' ')
    return windlass(scene.http, ['gitops', group, command, 'prod', ...rest, '--runtime-url', scene.proxyUrl])
  }
  for (const words of [
    `config set --shared-config-repo ${forge.url}/ann/gitops.git`,
    `git-source create apps --git-src-repo ${forge.url}/ann/apps.git`,
  ]) {
    const { code, text } = await run(words)
    expect(code, text).toBe(0)
  }
  const client = createClient({ url: scene.proxyUrl, transport: nodeTransport(), token: scene.http.adminToken })
  const { application } = await gitopsRuntimeCalls(client).configuration()
  await scene.cluster.apply(application)
  await scene.until('apps', ({ status }) => status?.sync?.status === 'Synced')
  return {
    forge,
    ann,
    run,
    async write(repo, path, content, branch = 'main') {
      const body = { content: Buffer.from(content).toString('base64'), message: `Write ${path}` }
      const to = branch === 'main' ? { branch } : { branch: 'main', new_branch: branch }
      const found = (await ann.api('GET', `/repos/ann/${repo}/contents/${path}?ref=main`).catch(() => undefined)) as
        | { sha: string }
        | undefined
      const contents = `/repos/ann/${repo}/contents/${path}`
      if (found === undefined) await ann.api('POST', contents, { ...body, ...to })
      else await ann.api('PUT', contents, { ...body, ...to, sha: found.sha })
    },
  }
}
