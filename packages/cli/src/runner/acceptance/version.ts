import type { Finding, Subject } from './finding.ts'

/** The oldest Kubernetes that the objects of the chart are valid in. */
export const OLDEST_KUBERNETES = { major: 1, minor: 21 } as const

/** The version of the API server against the oldest one that is supported. */
export async function testVersion({ kube }: Pick<Subject, 'kube'>): Promise<readonly Finding[]> {
  return [judgeVersion(await kube.version())]
}

/** Pure part of `testVersion`: `v1.34.4`, `v1.29.3-eks-ae9a62a`. */
export function judgeVersion(text: string): Finding {
  const check = 'version'
  const found = /^v?(\d+)\.(\d+)/.exec(text)
  const oldest = `${OLDEST_KUBERNETES.major}.${OLDEST_KUBERNETES.minor}`
  if (found === null) return { check, status: 'warn', message: `The cluster calls its version '${text}', which cannot be read.` }
  const [major, minor] = [Number(found[1]), Number(found[2])]
  const isOld = major < OLDEST_KUBERNETES.major || (major === OLDEST_KUBERNETES.major && minor < OLDEST_KUBERNETES.minor)
  if (!isOld) return { check, status: 'pass', message: `Kubernetes ${text}` }
  return {
    check,
    status: 'fail',
    message: `The cluster runs Kubernetes ${text}; ${oldest} is the oldest that is supported.`,
    hint: 'Upgrade the cluster.',
  }
}
