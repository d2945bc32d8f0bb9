/** The storage class of the claims of builds, and the provisioner of its disks. */
import { z } from 'zod'
import type { Kube } from '../client.ts'
import type { Finding } from './finding.ts'

const Provisioned = z.looseObject({ provisioner: z.string() })
const Phase = z.looseObject({ phase: z.string() })
const CHECK = 'storage class'

/** Checks that the class exists, and that our provisioner runs if the class is served by it. */
export async function checkStorageClass(
  kube: Kube,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  signal?: AbortSignal,
): Promise<Finding> {
  const found = await kube.find({ kind: 'StorageClass', name }, signal)
  if (found === undefined)
    return {
      check: CHECK,
      status: 'warn',
      message: `${name} does not exist`,
      hint: 'Install the chart with its provisioner, or set another class in the runtime (pvcs.dind.storageClassName). Only an agent that creates disks itself (WINDLASS_AGENT_VOLUME_DIR) needs no class.',
    }
  const { provisioner } = Provisioned.parse(found)
  if (!provisioner.includes('dind-volume-provisioner'))
    return { check: CHECK, status: 'pass', message: `${name}, provisioned by ${provisioner}` }
  const labels = 'codefresh.io/application=volume-provisioner'
  const pods = await kube.list({ kind: 'Pod', namespace, labels }, signal)
  const isRunning = pods.some((pod) => Phase.safeParse(pod['status']).data?.phase === 'Running')
  return {
    check: CHECK,
    status: isRunning ? 'pass' : 'warn',
    message: `${name}, provisioned by the Windlass provisioner, which ${isRunning ? 'is running' : `is not running in ${namespace}`}`,
    hint: isRunning ? undefined : `Run \`kubectl -n ${namespace} get pods -l ${labels}\`.`,
  }
}
