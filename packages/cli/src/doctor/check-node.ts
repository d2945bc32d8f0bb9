/**
 * Checks a node from within a pod: what the Docker daemon needs of the kernel (dind image, with the privileges of builds), and the connection
 * from the pod network to the server (this command in the engine image). The pod is always removed.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import { z } from 'zod'
import { messageOf } from './check-way.ts'
import type { Finding } from '../runner/acceptance/finding.ts'
import type { Report } from './report.ts'

export interface NodeCheck {
  readonly kube: Kube
  readonly clock: Clock
  readonly namespace: string
  readonly dindImage: string
  /** Path of the disk in the daemon's container, and the security contexts of its pod. */
  readonly diskPath: string
  readonly podSecurity: Readonly<Record<string, unknown>> | undefined
  readonly daemonSecurity: Readonly<Record<string, unknown>>
  readonly engineImage: string
  readonly serverUrl: string
  /** PEM text of the server's private certificate authority. */
  readonly serverCa?: string | undefined
  /** Node selector of builds. */
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly tolerations: readonly unknown[]
  /** Proxy variables of the engine. */
  readonly environment: Readonly<Record<string, string>>
}

/** How long the pod may take. Milliseconds. */
export const START_MS = 120_000
const POLL_MS = 250

/** Runs the pod and reports the findings of its two containers. */
export async function checkNode(check: NodeCheck, report: Report): Promise<void> {
  const pod = podOf(check)
  const ref = { kind: 'Pod', namespace: check.namespace, name: pod.metadata.name } as const
  report.begin?.('pod')
  try {
    await check.kube.apply(pod, [])
    const node = await waitForEnd(check, ref, report)
    if (node === undefined) return
    report({ check: 'node', status: 'pass', message: node })
    for (const line of (await check.kube.logs(ref, { container: 'node', tailLines: 100 })).split('\n')) readLine(line, report)
    for (const line of (await check.kube.logs(ref, { container: 'network', tailLines: 100 })).split('\n'))
      readFinding(line, report)
  } catch (error) {
    report({
      check: 'pod',
      status: 'fail',
      message: messageOf(error),
      hint: 'The cluster rejected the pod; builds would fail with the same error.',
    })
  } finally {
    await check.kube.delete(ref, { graceSeconds: 0 }).catch(() => false)
  }
}

const State = z.looseObject({
  waiting: z.looseObject({ reason: z.string().default(''), message: z.string().default('') }).optional(),
  terminated: z.looseObject({ exitCode: z.int() }).optional(),
})
const Pod = z.looseObject({
  spec: z.looseObject({ nodeName: z.string().optional() }),
  status: z
    .looseObject({
      phase: z.string().default('Pending'),
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().default('') })).default([]),
      containerStatuses: z.array(z.looseObject({ name: z.string(), state: State.default({}) })).default([]),
    })
    .prefault({}),
})

/** Resolves to the node name when both containers have ended. Reports why and resolves to undefined if they do not. */
async function waitForEnd({ kube, clock }: NodeCheck, ref: ObjectRef, report: Report): Promise<string | undefined> {
  const until = clock.monotonic() + START_MS
  for (;;) {
    const { spec, status } = Pod.parse(await kube.find(ref))
    if (status.phase === 'Succeeded' || status.phase === 'Failed') return spec.nodeName ?? ''
    const stuck = status.containerStatuses.find(({ state }) => /Image|Err|Invalid/.test(state.waiting?.reason ?? ''))
    if (stuck !== undefined || clock.monotonic() > until) {
      const unplaced = status.conditions.find(({ type, status: value }) => type === 'PodScheduled' && value === 'False')
      const waiting = stuck?.state.waiting
      const text = waiting ? `${waiting.reason}: ${waiting.message}` : (unplaced?.message ?? `the pod is ${status.phase}`)
      report({
        check: 'pod',
        status: 'fail',
        message: text,
        hint: hintFor(waiting?.reason ?? ''),
      })
      return undefined
    }
    await clock.sleep(POLL_MS)
  }
}

function hintFor(reason: string): string {
  if (/Image/.test(reason))
    return 'Push the images `windlass/windlass` and `windlass/dind` to a registry that the nodes reach, and name it with `--docker-registry`; or load them on every node.'
  return 'Builds would wait for the same reason. Check images, node selectors, taints and quotas.'
}

function podOf(check: NodeCheck): KubeObject {
  const restricted = {
    runAsNonRoot: true,
    runAsUser: 10_001,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const url = { name: 'WINDLASS_URL', value: check.serverUrl }
  const hasCa = check.serverCa !== undefined
  const ca = hasCa ? [{ name: 'WINDLASS_CA_FILE', value: '/etc/windlass/ca.pem' }] : []
  const proxies = Object.entries(check.environment).map(([name, value]) => ({ name, value }))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `windlass-doctor-${randomBytes(4).toString('hex')}`,
      namespace: check.namespace,
      labels: { app: 'windlass-doctor' },
      // Certificates are public, and an annotation needs no ConfigMap that might be left behind.
      ...(hasCa && { annotations: { [CA_NOTE]: check.serverCa } }),
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: 300,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      nodeSelector: check.nodeSelector,
      tolerations: check.tolerations,
      ...(check.podSecurity !== undefined && { securityContext: check.podSecurity }),
      containers: [
        {
          name: 'node',
          image: check.dindImage,
          imagePullPolicy: 'IfNotPresent',
          command: ['/usr/local/bin/check-node'],
          securityContext: check.daemonSecurity,
          volumeMounts: [{ name: 'disk', mountPath: check.diskPath }],
        },
        {
          name: 'network',
          image: check.engineImage,
          imagePullPolicy: 'IfNotPresent',
          command: ['node', 'dist/windlass.js', 'doctor', '--only', 'server', '--output', 'json'],
          env: [url, ...ca, ...proxies, { name: 'HOME', value: '/tmp' }],
          securityContext: restricted,
          volumeMounts: [{ name: 'authority', mountPath: '/etc/windlass', readOnly: true }],
        },
      ],
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'authority', downwardAPI: { items: hasCa ? [authorityFile] : [] } },
      ],
    },
  }
}

const CA_NOTE = 'windlass.io/ca'
const authorityFile = { path: 'ca.pem', fieldRef: { fieldPath: `metadata.annotations['${CA_NOTE}']` } }

const STATUSES: readonly Finding['status'][] = ['pass', 'warn', 'fail']

/** Reports a line of `check-node`: `status|check|message|hint`. */
function readLine(line: string, report: Report): void {
  const [given, check, message, hint] = line.split('|')
  const status = STATUSES.find((name) => name === given)
  if (status !== undefined && check !== undefined && message !== undefined)
    report({ check, status, message, hint: hint === '' ? undefined : hint })
}

const Line = z.object({
  check: z.string(),
  status: z.enum(['pass', 'warn', 'fail']),
  message: z.string(),
  hint: z.string().optional(),
})

/** Reports a line of this command's JSON output in the pod. */
function readFinding(line: string, report: Report): void {
  if (!line.startsWith('{')) return
  const found = Line.parse(JSON.parse(line))
  report({ ...found, check: `${found.check} (from a pod)` })
}
