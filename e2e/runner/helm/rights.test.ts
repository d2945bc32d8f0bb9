/** Compares the permissions of each account of the charts with a file: as the charts render them, and as a cluster reports them. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../support/cluster.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { eventually } from '../../support/installation.ts'
import { readCanI, rightsOf, toText, withoutRights, type AccountRights } from './rights.ts'

const GOLDEN = 'rights.golden'
/** The namespace of every rendered chart. */
const RELEASE_NAMESPACE = 'codefresh'
const NAMESPACE = `rights-${process.pid}`
const VALUES = {
  global: {
    codefreshHost: 'https://windlass.example.com/',
    codefreshTokenSecretKeyRef: { name: 'key', key: 'key' },
    context: 'prod',
  },
}
const KINDS = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']

let helm: Helm
let cluster: Cluster
let objects: readonly Rendered[]
beforeAll(async () => {
  helm = await openHelm()
  objects = (await helm.template('windlass-runtime', VALUES)).filter(({ kind }) => KINDS.includes(kind))
})
afterAll(async () => {
  await helm?.close()
  await cluster?.kubectl('delete', 'clusterrole,clusterrolebinding', '--selector', `test=${NAMESPACE}`, '--ignore-not-found')
  await cluster?.kubectl('delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait=false')
})

test('the accounts of the chart have only these permissions; those of a build have none', async () => {
  const rights = rightsOf(objects)
  await expect(toText(rights)).toMatchFileSnapshot(GOLDEN)
  for (const account of ['codefresh-engine', 'codefresh-dind'])
    expect(toText(rights.filter((each) => each.account === account))).toBe(`${account}\n  here: nothing\n  elsewhere: nothing\n`)
  for (const name of ['codefresh-engine', 'codefresh-dind'])
    expect(objects.find(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === name)).toMatchObject({
      automountServiceAccountToken: false,
    })
})

test('a Role of the engine exists only if the values have rules for it', async () => {
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }]
  const text = toText(rightsOf(await helm.template('windlass-runtime', VALUES, { runtime: { rbac: { rules } } })))
  expect(text).toContain('codefresh-engine\n  here: configmaps: get\n  elsewhere: nothing\n')
})

test('a cluster reports the same permissions of each account', async () => {
  cluster = await startCluster()
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  const text = JSON.stringify(
    objects.map((object) => ({ ...object, metadata: { ...object.metadata, labels: { test: NAMESPACE } } })),
  )
  const moved: object[] = JSON.parse(
    text
      .replaceAll(`"namespace":"${RELEASE_NAMESPACE}"`, `"namespace":"${NAMESPACE}"`)
      .replaceAll(`-${RELEASE_NAMESPACE}"`, `-${NAMESPACE}"`),
  )
  await cluster.apply(...moved)
  const canI = async (account: string, namespace: string): Promise<string> =>
    cluster.kubectl(
      'auth',
      'can-i',
      '--list',
      '--no-headers',
      '--namespace',
      namespace,
      `--as=system:serviceaccount:${NAMESPACE}:${account}`,
    )
  // The cluster needs a moment to apply new roles.
  await eventually('the roles are active', async () =>
    (await canI('cf-runtime-runner', NAMESPACE)).includes('leases') ? true : undefined,
  )
  const everyAccount = { here: readCanI(await canI('nobody', NAMESPACE)), elsewhere: readCanI(await canI('nobody', 'default')) }
  const found: AccountRights[] = []
  for (const { account } of rightsOf(objects))
    found.push({
      account,
      here: withoutRights(readCanI(await canI(account, NAMESPACE)), everyAccount.here),
      elsewhere: withoutRights(readCanI(await canI(account, 'default')), everyAccount.elsewhere),
    })
  await expect(toText(found)).toMatchFileSnapshot(join(import.meta.dirname, GOLDEN))
})
