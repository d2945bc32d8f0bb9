/**
 * Disks as folders of nodes: `<volumeParentDir>/vol-<key>` (runner specification 5.5). By default the kubelet makes the folder when the
 * pod lands somewhere, so the scheduler chooses the node and nothing waits. Where the folder must belong to a user (rootless daemons) or
 * the class says `volumeSource: local`, a helper pod makes it on a node that is known before. Removing always takes a helper pod.
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
      if (node === undefined)
        throw fault('storage-refused', { message: 'No node is ready that the pod of the build may run on.' })
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
      // Never mounted anywhere: there is no folder yet. On a node that is gone: there is none any more.
      if (path === undefined || nodeName === undefined) return
      if ((await kube.find({ kind: 'Node', name: nodeName }, signal)) === undefined) return
      const folder = basename(path)
      // A volume is what somebody wrote: nothing but a folder of disks is removed, whatever its path says.
      if (!/^vol-[A-Za-z0-9-]+$/.test(folder) || dirname(path) === '/')
        throw fault('storage-refused', { message: `${path} is not the folder of a disk, so it is not removed.` })
      const name = `dind-disk-remove-${sha256(`${nodeName}/${path}`).slice(0, 12)}`
      const command = ['rm', '-rf', '--', `/disks/${folder}`]
      await runHelper({ kube, clock, settings: helper }, { name, node: nodeName, parentDir: dirname(path), command }, signal)
    },
  }
}
