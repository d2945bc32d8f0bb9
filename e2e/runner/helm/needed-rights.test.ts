/** The permissions that an installation asks for, held against the rendered chart. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { neededRights } from '../../../packages/cli/src/runner/acceptance/rights.ts'
import { type Helm, openHelm, type Rendered } from '../../support/helm.ts'
import { BASE } from './render.ts'

let helm: Helm
beforeAll(async () => {
  helm = await openHelm()
})
afterAll(() => helm?.close())

interface Use {
  readonly verb: string
  readonly group: string
  /** With the subresource, if any. */
  readonly resource: string
  readonly isWide: boolean
}

const Rules = z.array(
  z.looseObject({ apiGroups: z.array(z.string()), resources: z.array(z.string()).default([]), verbs: z.array(z.string()) }),
)
const WIDE = ['ClusterRole', 'ClusterRoleBinding', 'StorageClass']

/** Returns the creation of the object, and the rules of a role: Kubernetes lets users grant only permissions that they have. */
function usesOf({ apiVersion, kind, rules }: Rendered): Use[] {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  const plural = `${kind.toLowerCase()}${kind.endsWith('ss') ? 'es' : 's'}`
  const granted = kind === 'Role' || kind === 'ClusterRole' ? Rules.parse(rules) : []
  return [
    { verb: 'create', group, resource: plural, isWide: WIDE.includes(kind) },
    ...granted.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((each) =>
        resources.flatMap((resource) => verbs.map((verb) => ({ verb, group: each, resource, isWide: kind === 'ClusterRole' }))),
      ),
    ),
  ]
}

const HOST = 'proxy.example.com'
const ROUTE = { enabled: true, parentRefs: [{ name: 'public' }], hostnames: [HOST] }

test.each([
  { name: 'a monitor', monitor: true, more: {}, appProxy: {} },
  { name: 'no monitor', monitor: false, more: {}, appProxy: {} },
  { name: 'an Ingress', monitor: false, more: { proxyIngress: true }, appProxy: { enabled: true, ingress: { host: HOST } } },
  { name: 'an HTTPRoute', monitor: false, more: { proxyRoute: true }, appProxy: { enabled: true, httpRoute: ROUTE } },
])(
  'the installer checks the permissions of all objects and roles of the chart with $name (R219)',
  async ({ monitor, more, appProxy }) => {
    const objects = await helm.template('windlass-runtime', BASE, { monitor: { enabled: monitor }, appProxy })
    const parts = { agent: true, runtime: true, provisioner: true, monitor, ...more }
    const rights = neededRights({ namespace: 'codefresh', parts })
    const isChecked = ({ verb, group, resource, isWide }: Use): boolean =>
      rights.some((right) => {
        const name = right.subresource === undefined ? right.resource : `${right.resource}/${right.subresource}`
        const isNamed = name === resource || name === '*'
        return right.verb === verb && right.group === group && isNamed && (right.namespace === undefined || !isWide)
      })
    const uses = objects.flatMap(usesOf)
    expect(uses.length).toBeGreaterThan(100)
    expect(uses.filter((use) => !isChecked(use))).toEqual([])
  },
)
