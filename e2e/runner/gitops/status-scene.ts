/** The status of the runtime `prod`: what breaks one of its parts, and what the status says then. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { PATIENCE, type RepositoryScene } from './repository-scene.ts'
import { TOKEN_SECRET } from './runtime-process.ts'

/** What the status says of Argo CD and of the shared repository if nothing is wrong with them. */
export const WELL = ['connected', 'gitops'] as const

export interface StatusScene extends AsyncDisposable {
  /** Waits until the status has these checks that did not succeed, then the state of Argo CD and the sync mode. */
  until(...names: string[]): Promise<void>
  /** Registers the Git token of the runtime, of which the forge knows the name `runtime`. */
  registerToken(): Promise<void>
  /** Takes keys from the Secret of the runtime, and then the whole Secret. */
  breakSecret(): Promise<void>
  /** Removes the Git integration. */
  breakIntegration(): Promise<void>
  /** Revokes the Git token of the runtime at the forge. */
  breakToken(): Promise<void>
  /** Takes Argo CD away, then gives the runtime a wrong token of it. */
  breakArgoCd(): Promise<void>
}

/** The status is well again after each break. */
export async function openStatusScene({ cluster, admin, mira, forge, ...at }: RepositoryScene): Promise<StatusScene> {
  const runtime = at.runtimes.prod
  const namespace = at.namespaces.prod
  const folder = await mkdtemp(join(tmpdir(), 'windlass-status-'))
  const basic = `Basic ${Buffer.from(`${mira.name}:${mira.password}`).toString('base64')}`
  const tokens = `${forge.url}/api/v1/users/${mira.name}/tokens`
  const headers = { authorization: basic, 'content-type': 'application/json' }

  const broken = async (): Promise<readonly string[]> => {
    const { checks, argoCd, syncMode } = await admin.gitopsStatus.get('prod')
    const names = checks.filter(({ status }) => status !== 'successful').map(({ name, status }) => `${name} ${status}`)
    return [...names, argoCd.state, syncMode]
  }
  const until = (...names: string[]): Promise<void> => expect.poll(broken, PATIENCE).toEqual(names)

  async function register(token: string): Promise<void> {
    await writeFile(join(folder, 'git-token'), token)
    await at.windlass(`gitops integration register prod --token-file ${join(folder, 'git-token')} --runtime-token`)
  }

  return {
    until,
    async registerToken() {
      const made = await fetch(tokens, { method: 'POST', headers, body: JSON.stringify({ name: 'runtime', scopes: ['all'] }) })
      const { sha1 } = (await made.json()) as { sha1: string }
      await register(sha1)
    },
    async breakSecret() {
      const secret = { kind: 'Secret', namespace, name: TOKEN_SECRET } as const
      // This run has made it.
      const data = (await cluster.kube.find(secret))?.['data'] as { token: string; encryptionIV: string }
      await cluster.kube.patch(secret, { data: { encryptionIV: null } })
      await until('encryptionIv failed', ...WELL)
      await cluster.kube.patch(secret, { data: { ...data, token: null } })
      await until('encryptionKey failed', ...WELL)
      await cluster.kube.delete(secret)
      await until('encryptionKey failed', 'encryptionIv failed', ...WELL)
      await cluster.kube.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: TOKEN_SECRET, namespace }, data })
      await until(...WELL)
    },
    async breakIntegration() {
      const integration = { kind: 'ConfigMap', namespace, name: 'git-integration-default' } as const
      const before = await cluster.kube.find(integration)
      await cluster.kube.delete(integration)
      await until('defaultGitIntegration failed', 'runtimeGitToken unknown', ...WELL)
      const labels = before?.metadata.labels ?? {}
      await cluster.kube.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: integration.name, namespace, labels },
        data: before?.['data'],
      })
      await until(...WELL)
    },
    async breakToken() {
      const revoked = await fetch(`${tokens}/runtime`, { method: 'DELETE', headers })
      expect(revoked.status).toBe(204)
      await until('runtimeGitToken failed', ...WELL)
      expect((await admin.gitopsStatus.get('prod')).problems).toEqual([
        expect.stringMatching(
          /does not accept the Git token of the runtime\. Register another one: `windlass gitops integration register prod default /,
        ),
      ])
      await register(mira.token)
      await until(...WELL)
    },
    async breakArgoCd() {
      // Without Argo CD its token is not the problem; with a wrong token Argo CD is not.
      await runtime.argo.close()
      await until('eventReporterArgoCDToken unknown', 'not-found', 'gitops')
      await runtime.argo.open()
      await runtime.writeArgoToken('wrong')
      await until('eventReporterArgoCDToken failed', 'not-authorized', 'gitops')
      await runtime.writeArgoToken(at.argo.token)
      await until(...WELL)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
