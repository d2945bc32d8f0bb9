/** Opens the backend for the parameters of a class; one backend per set of parameters, so that credentials are fetched once. */
import { awsCredentials, azureAccess, googleAccess } from '@windlass/cloud'
import type { Clock, Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { ProvisionerConfig } from '../provisioner/config.ts'
import { azureDiskBackend } from './azuredisk.ts'
import type { Backend } from './backend.ts'
import { ebsBackend, regionOf } from './ebs.ts'
import { openEc2 } from './ec2.ts'
import { gceDiskBackend } from './gcedisk.ts'
import type { HelperSettings } from './helper-pod.ts'
import { localBackend } from './local.ts'
import type { Parameters } from './parameters.ts'

export interface OpenerOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly config: Readonly<ProvisionerConfig>
  /** Namespace of helper pods. */
  readonly namespace: string
  readonly owner: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Returns an opener of backends; no cloud is called before its backend is used. */
export function backendOpener(options: OpenerOptions): (parameters: Parameters) => Backend {
  const opened = new Map<string, Backend>()
  return (parameters) => {
    const key = JSON.stringify(parameters)
    const backend = opened.get(key) ?? open(options, parameters)
    opened.set(key, backend)
    return backend
  }
}

function open(options: OpenerOptions, parameters: Parameters): Backend {
  const { kube, clock, config, owner, env } = options
  switch (parameters.volumeBackend) {
    case 'local':
      return localBackend({ kube, clock, parameters, helper: helperOf(options), isRootless: config.ROOTLESS })
    case 'ebs':
    case 'ebs-csi': {
      const region = regionOf(parameters.AvailabilityZone)
      const credentials = awsCredentials({ env, clock, region })
      const ec2 = openEc2({ clock, region, endpoint: config.EC2_ENDPOINT, credentials })
      return ebsBackend({ ec2, clock, parameters, owner })
    }
    case 'gcedisk':
      return gceDiskBackend({ clock, parameters, owner, access: googleAccess({ env, clock }) })
    case 'azuredisk':
    case 'azuredisk-csi':
      return azureDiskBackend({ clock, parameters, owner, access: azureAccess({ env, clock }) })
  }
}

function helperOf({ config, namespace }: OpenerOptions): HelperSettings {
  return {
    image: config.REGISTRY === undefined ? config.HELPER_IMAGE : `${config.REGISTRY.replace(/\/+$/, '')}/${config.HELPER_IMAGE}`,
    namespace,
    isPrivileged: config.PRIVILEGED_HELPER,
    imagePullSecrets: config.HELPER_PULL_SECRETS,
    resources: {
      requests: { cpu: config.HELPER_REQUESTS_CPU, memory: config.HELPER_REQUESTS_MEMORY },
      limits: { cpu: config.HELPER_LIMIT_CPU, memory: config.HELPER_LIMIT_MEMORY },
    },
  }
}
