/**
 * Disks as folders of nodes: `<volumeParentDir>/vol-<key>`. By default the kubelet creates the folder where the pod runs, so the scheduler
 * chooses the node and nothing has to wait. If the folder must belong to a user (rootless daemons), or the class has `volumeSource: local`,
 * a helper pod creates it on a node that is known before. Removal always uses a helper pod.
 */
import { basename, dirname } from 'node:path'
import { fault, sha256, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { NOTE } from '../pool/notes.ts'
import { onNode } from '../pool/placement.ts'
import { localPathOf } from '../pool/volume.ts'
import type { Backend } from './backend.ts'
import { runHelper, type HelperSettings } from './helper-pod.ts'
import type { LocalParameters } from './parameters.ts'

export interface LocalOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly parameters: LocalParameters
  readonly helper: HelperSettings
  /** The daemon runs as user 1000 and must own its folder. */
  readonly isRootless: boolean
}

const ROOTLESS_USER = '1000'

export function localBackend(options: LocalOptions): Backend {
  const { kube, clock, parameters, helper, isRootless } = options
  const parentDir = parameters.volumeParentDir
  const isMadeByHelper = isRootless || parameters.volumeSource === 'local'
  return {
    type: 'local',
    needsNode: isMadeByHelper,
    async make({ key, node }, signal) {
      const id = `vol-${key}`
      const path = `${parentDir}/${id}`
      if (!isMadeByHelper) return { id, backend: 'local', spec: { hostPath: { path, type: 'DirectoryOrCreate' } } }
      if (node === undefined) throw fault('storage-refused', { message: 'No ready node accepts the pod of the build.' })
      const owner = isRootless ? ROOTLESS_USER : '0'
      const command = ['install', '-d', '-m', '0755', '-o', owner, '-g', owner, `/disks/${id}`]
      const { name } = node.metadata
      await runHelper(
        { kube, clock, settings: helper },
        { name: `dind-disk-make-${key}`, node: name, parentDir, command },
        signal,
      )
      const source = parameters.volumeSource === 'hostPath' ? { hostPath: { path, type: 'Directory' } } : { local: { path } }
      return { id, backend: 'local', spec: { ...source, nodeAffinity: onNode(node) }, annotations: { [NOTE.node]: name } }
    },
    async remove(volume, signal) {
      const path = localPathOf(volume)
      const nodeName = volume.metadata.annotations[NOTE.node]
      // If the disk was never mounted, there is no folder yet. If its node is gone, so is the folder.
      if (path === undefined || nodeName === undefined) return
      if ((await kube.find({ kind: 'Node', name: nodeName }, signal)) === undefined) return
      const folder = basename(path)
      // The path of a volume may be written by hand, so only folders of disks are removed.
      if (!/^vol-[A-Za-z0-9-]+$/.test(folder) || dirname(path) === '/')
        throw fault('storage-refused', { message: `${path} is not the folder of a disk and is not removed.` })
      const name = `dind-disk-remove-${sha256(`${nodeName}/${path}`).slice(0, 12)}`
      const command = ['rm', '-rf', '--', `/disks/${folder}`]
      await runHelper({ kube, clock, settings: helper }, { name, node: nodeName, parentDir: dirname(path), command }, signal)
    },
  }
}
