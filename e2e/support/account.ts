/** Service accounts whose rights a program under test has. */
import { writeFile } from 'node:fs/promises'
import { silentLog } from '@windlass/kit'
import { openKube, type Right } from '@windlass/kube'
import type { Cluster } from './cluster.ts'
import { eventually } from './eventually.ts'

export interface Account {
  readonly namespace: string
  readonly name: string
  /** Rights of its roles, one of each. They count some time after the API server has answered that they are bound. */
  readonly rights: readonly Right[]
}

/** Longer than the tests of a file take. */
const TOKEN_SECONDS = 7_200

/** Writes a kubeconfig that has only the rights of a service account, and returns its path. Waits until the account has its rights. */
export async function writeKubeconfig({ kube, access }: Cluster, account: Account, path: string): Promise<string> {
  const { namespace, name, rights } = account
  const { token } = await kube.issueToken({ kind: 'ServiceAccount', namespace, name }, TOKEN_SECONDS)
  const own = { server: access.server, ca: access.ca, token: () => token, insecure: false, namespace }
  const user = openKube({ access: own, log: silentLog })
  for (const right of rights)
    await eventually(`${name} may ${right.verb} ${right.resource}`, async () => ((await user.can(right)) ? true : undefined))
  user.close()
  const data = Buffer.from(access.ca ?? '').toString('base64')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'windlass', cluster: { server: access.server, 'certificate-authority-data': data } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: 'windlass', user: name, namespace } }],
    'current-context': name,
  }
  await writeFile(path, JSON.stringify(config), { mode: 0o600 })
  return path
}
