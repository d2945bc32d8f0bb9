/** Reads Secrets and ConfigMaps that builds may mount, for checks of contexts. The limits are those of builds: what they may not mount is not read. */
import { fault } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { z } from 'zod'
import type { DataRef } from '../executor.ts'
import { allowedBy, isAllowed, type AgentPolicy } from './policy/agent-policy.ts'

const Data = z.looseObject({
  data: z.record(z.string(), z.string()).nullish(),
  binaryData: z.record(z.string(), z.string()).nullish(),
})

interface ReadParts {
  readonly kube: Kube
  readonly policy: AgentPolicy
}

/** Returns undefined if the object does not exist. Throws `policy-refused`, and faults of the cluster. */
export async function readData(
  { kube, policy }: ReadParts,
  { namespace, kind, name }: DataRef,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (!policy.namespaces.includes(namespace))
    throw fault('policy-refused', {
      message: `The agent does not use the namespace ${namespace}.`,
      hint: allowedBy('NAMESPACES'),
    })
  if (kind === 'Secret' && !isAllowed(policy.secrets, namespace, name))
    throw fault('policy-refused', {
      message: `Builds may not use the Secret ${name}.`,
      hint: allowedBy('ALLOWED_SECRETS'),
    })
  const found = await kube.find({ kind, namespace, name }, signal)
  if (found === undefined) return undefined
  const { data, binaryData } = Data.parse(found)
  return { ...data, ...binaryData }
}
