/** Node conditions that keep builds from being scheduled. */
import { z } from 'zod'
import type { Kube } from '../client.ts'
import type { Finding } from './finding.ts'

const Node = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ unschedulable: z.boolean().default(false) }).prefault({}),
  status: z
    .looseObject({
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), message: z.string().default('') })).default([]),
    })
    .prefault({}),
})

/** Returns a finding for each node that is cordoned, not ready or under pressure. */
export async function checkNodeConditions(kube: Kube, signal?: AbortSignal): Promise<Finding[]> {
  return (await kube.list({ kind: 'Node' }, signal)).flatMap(evaluateNode)
}

function evaluateNode(node: unknown): Finding[] {
  const { metadata, spec, status } = Node.parse(node)
  const check = `node ${metadata.name}`
  const findings: Finding[] = spec.unschedulable
    ? [{ check, status: 'warn', message: 'is cordoned', hint: `Run \`kubectl uncordon ${metadata.name}\`.` }]
    : []
  for (const { type, status: value, message } of status.conditions) {
    if (type === 'Ready' && value !== 'True')
      findings.push({ check, status: 'warn', message: `is not ready: ${message}`, hint: 'Check its kubelet.' })
    if (type.endsWith('Pressure') && value === 'True')
      findings.push({
        check,
        status: 'warn',
        message: `${type}: ${message}`,
        hint: 'The kubelet evicts pods in this condition. Free the resource, or add nodes.',
      })
  }
  return findings
}
