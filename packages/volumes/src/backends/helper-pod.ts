/**
 * Runs one command as root on one node in a short-lived pod: the only way to change folders of a node without a process on each. The pod
 * bypasses the scheduler (`nodeName`), so that a cordoned node can be cleaned too. It mounts only the folder of disks.
 */
import { fault, type Clock } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import { z } from 'zod'

export interface HelperSettings {
  readonly image: string
  /** Namespace of the provisioner. */
  readonly namespace: string
  readonly resources: Readonly<Record<'requests' | 'limits', Readonly<Record<string, string>>>>
  /** Required by OpenShift, which lets only privileged containers access host folders. */
  readonly isPrivileged: boolean
  readonly imagePullSecrets: readonly string[]
}

export interface HelperJob {
  /** Name of the pod. The same job has the same name, so that it runs once. */
  readonly name: string
  readonly node: string
  /** Folder of the node that is mounted at `/disks`. */
  readonly parentDir: string
  /** Program and arguments, without a shell. */
  readonly command: readonly string[]
}

const POLL_MS = 150
/** Removing a full disk of small files takes minutes. Milliseconds. */
const TIMEOUT_MS = 600_000

const PodEnd = z.looseObject({
  status: z
    .looseObject({
      phase: z.string().default('Pending'),
      reason: z.string().optional(),
      message: z.string().optional(),
      containerStatuses: z
        .array(
          z.looseObject({
            state: z
              .looseObject({
                waiting: z.looseObject({ reason: z.string().optional(), message: z.string().optional() }).optional(),
                terminated: z.looseObject({ exitCode: z.int(), message: z.string().optional() }).optional(),
              })
              .prefault({}),
          }),
        )
        .default([]),
    })
    .prefault({}),
})

/** Runs a job on a node and removes its pod. Throws `storage-refused` with the output of the command or the message of the cluster. */
export async function runHelper(
  { kube, clock, settings }: { readonly kube: Kube; readonly clock: Clock; readonly settings: HelperSettings },
  job: HelperJob,
  signal: AbortSignal,
): Promise<void> {
  const ref: ObjectRef = { kind: 'Pod', namespace: settings.namespace, name: job.name }
  await kube.apply(helperPod(job, settings), [], signal)
  const end = clock.monotonic() + TIMEOUT_MS
  for (;;) {
    const found = await kube.find(ref, signal)
    const { status } = PodEnd.parse(found ?? {})
    const state = status.containerStatuses[0]?.state
    if (found === undefined || status.phase === 'Succeeded') break
    if (status.phase === 'Failed' || clock.monotonic() > end) {
      await kube.delete(ref, { graceSeconds: 1, signal })
      const cause = state?.terminated?.message ?? state?.waiting?.message ?? status.message ?? status.reason
      const how = status.phase === 'Failed' ? 'failed' : `did not end within ${TIMEOUT_MS / 1000} s`
      throw fault('storage-refused', { message: `${job.command[0]} on node ${job.node} ${how}: ${cause ?? status.phase}.` })
    }
    await clock.sleep(POLL_MS, signal)
  }
  await kube.delete(ref, { graceSeconds: 0, signal })
}

/** Returns the pod of a job. Pure. */
export function helperPod(job: HelperJob, settings: HelperSettings): KubeObject {
  const asRoot = settings.isPrivileged
    ? { privileged: true }
    : {
        privileged: false,
        allowPrivilegeEscalation: false,
        // Files of builds belong to any user; without these capabilities root could not remove them.
        capabilities: { drop: ['ALL'], add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'] },
        seccompProfile: { type: 'RuntimeDefault' },
      }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: job.name, namespace: settings.namespace, labels: { app: 'dind-volume-helper' } },
    spec: {
      nodeName: job.node,
      restartPolicy: 'Never',
      activeDeadlineSeconds: TIMEOUT_MS / 1000,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      tolerations: [{ operator: 'Exists' }],
      imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })),
      containers: [
        {
          name: 'helper',
          image: settings.image,
          imagePullPolicy: 'IfNotPresent',
          command: job.command,
          resources: settings.resources,
          terminationMessagePolicy: 'FallbackToLogsOnError',
          securityContext: { runAsUser: 0, runAsGroup: 0, readOnlyRootFilesystem: true, ...asRoot },
          volumeMounts: [{ name: 'disks', mountPath: '/disks' }],
        },
      ],
      volumes: [{ name: 'disks', hostPath: { path: job.parentDir, type: 'DirectoryOrCreate' } }],
    },
  }
}
