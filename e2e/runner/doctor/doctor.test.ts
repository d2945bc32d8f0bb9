/** The doctor on the real cluster: it checks from outside and from a pod, and leaves no objects. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Installation, startInstallation } from '../../support/installation.ts'

const NAMESPACE = `doctor-${process.pid}`
const Finding = z.object({ check: z.string(), status: z.string(), message: z.string(), hint: z.string().optional() })
type Finding = z.infer<typeof Finding>

let installation: Installation
beforeAll(async () => {
  installation = await startInstallation(NAMESPACE)
})
afterAll(() => installation?.close())

async function examine(...args: string[]): Promise<{ code: number; findings: Map<string, Finding>; all: string }> {
  const { kubeconfig } = installation.cluster
  const { code, stdout, stderr } = await installation.windlass('doctor', '-o', 'json', '--kube-config-path', kubeconfig, ...args)
  const findings = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Finding.parse(JSON.parse(line)))
  return { code, findings: new Map(findings.map((finding) => [finding.check, finding])), all: stdout + stderr }
}

test('a healthy cluster passes, from outside and from a pod, and no pod is left (R041)', async () => {
  const { code, findings, all } = await examine()
  expect(
    [...findings.values()].filter(({ status }) => status === 'fail'),
    all,
  ).toEqual([])
  expect(code, all).toBe(0)
  for (const check of [
    'version',
    'nodes',
    'rights',
    'privileges',
    'overlayfs',
    'cgroups',
    'iptables',
    'nat',
    'server (from a pod)',
  ])
    expect(findings.get(check), all).toMatchObject({ status: 'pass' })
  expect(await installation.kubectl('get', 'pods', '--selector', 'app=windlass-doctor', '--output', 'name')).toBe('')
})

test('a namespace that admits no privileged pod is reported with the command that fixes it', async () => {
  const label = 'pod-security.kubernetes.io/enforce'
  await installation.cluster.kubectl('label', 'namespace', NAMESPACE, `${label}=baseline`)
  try {
    const { code, findings } = await examine()
    expect(code).toBe(1)
    expect(findings.get('namespace')).toMatchObject({ status: 'fail', hint: expect.stringContaining(`${label}=privileged`) })
    expect(findings.get('pod')).toMatchObject({ status: 'fail', message: expect.stringContaining('PodSecurity') })
  } finally {
    await installation.cluster.kubectl('label', 'namespace', NAMESPACE, `${label}-`)
  }
})
