/** Asks with which options an application is synced. */
import { useMutation } from '@tanstack/react-query'
import type { ApplicationResource, SyncInput } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Command } from '../../parts/copy.tsx'
import { Check, Checks, Select } from '../../parts/forms/choice.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { FormDialog } from '../../parts/forms/form-dialog.tsx'
import layout from '../../parts/layout.module.css'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import styles from '../delivery.module.css'
import { delivery } from '../queries.ts'
import { fullNameOf, keyOf } from './objects.ts'
import { showLive, type LiveApplication } from './use-live.ts'

interface SyncProps {
  readonly live: LiveApplication
  readonly off: string | undefined
  readonly onClose: () => void
}

type Extent = 'all' | 'out-of-sync' | 'chosen'

const EXTENTS = [
  { value: 'all', label: 'All objects, with hooks' },
  { value: 'out-of-sync', label: 'Objects that are out of sync, without hooks' },
  { value: 'chosen', label: 'Chosen objects, without hooks' },
] as const satisfies readonly { readonly value: Extent; readonly label: string }[]

/** Options that are on or off, with the flag of the command line. */
const OPTIONS = [
  { name: 'prune', flag: '--prune', label: 'Prune: delete what the source does not have anymore' },
  { name: 'dryRun', flag: '--dry-run', label: 'Dry run: let Argo CD check, and change nothing' },
  { name: 'force', flag: '--force', label: 'Force: delete and create objects that cannot be changed' },
  { name: 'applyOnly', flag: '--apply-only', label: 'Apply only: run no hooks' },
] as const
type OptionName = (typeof OPTIONS)[number]['name']

export function SyncDialog({ live, off, onClose }: SyncProps): ReactElement {
  const { id, reported, now } = live
  const { runtime, name } = reported
  const { sources, resources } = now ?? reported
  const [revision, setRevision] = useState('')
  const [extent, setExtent] = useState<Extent>('all')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [on, setOn] = useState<readonly OptionName[]>([])
  const start = useMutation({
    mutationFn: (input: Partial<SyncInput>) => delivery.applications.sync(id, input),
    onSuccess: (app) => {
      showLive(id, app)
      onClose()
    },
  })
  const wanted = selectedOf(resources, extent, chosen)
  const given = revision.trim()
  const none = extent !== 'all' && wanted.length === 0 ? 'No object is selected.' : undefined
  const submit = (): void =>
    start.mutate({
      ...Object.fromEntries(OPTIONS.map((option) => [option.name, on.includes(option.name)])),
      ...(given !== '' && { revision: given }),
      resources: wanted.map(keyOf),
    })
  const words = [
    ...(given === '' ? [] : ['--revision', given]),
    ...OPTIONS.flatMap((option) => (on.includes(option.name) ? [option.flag] : [])),
    ...(extent === 'out-of-sync' ? ['--out-of-sync'] : []),
    ...(extent === 'chosen' ? wanted.flatMap((resource) => ['--resource', fullNameOf(resource)]) : []),
    '--wait',
  ]
  return (
    <FormDialog
      title={`Sync ${name}`}
      verb={on.includes('dryRun') ? 'Check the sync' : 'Sync'}
      off={off ?? none}
      isBusy={start.isPending}
      onSubmit={submit}
      onClose={onClose}
      isWide
    >
      {sources.length === 1 && (
        <Field
          label="Revision"
          hint="Branch, tag or commit. Empty: what the application follows."
          placeholder={sources[0]?.revision ?? 'HEAD'}
          value={revision}
          maxLength={255}
          onChange={(event) => setRevision(event.target.value)}
        />
      )}
      <div className={layout['tight']} role="group" aria-label="Options">
        {OPTIONS.map((option) => (
          <Check
            key={option.name}
            label={option.label}
            isOn={on.includes(option.name)}
            onChange={(isOn) => setOn(isOn ? [...on, option.name] : on.filter((one) => one !== option.name))}
          />
        ))}
      </div>
      <Select
        label="Objects"
        options={EXTENTS}
        value={extent}
        onChange={(value) => setExtent(EXTENTS.find((one) => one.value === value)?.value ?? 'all')}
      />
      {extent === 'chosen' && (
        <div className={styles['chosen']}>
          <Checks legend="Chosen objects" options={choicesOf(resources).map(fullNameOf)} chosen={chosen} onChange={setChosen} />
        </div>
      )}
      {none === undefined && <Command text={sh`windlass gitops app sync ${runtime} ${name} ${words}`} />}
      {start.error !== null && <Problem error={start.error} />}
    </FormDialog>
  )
}

/** Returns the objects that can be selected, those that are out of sync first. Hooks are no objects of a source. */
function choicesOf(resources: readonly ApplicationResource[]): ApplicationResource[] {
  const isOther = ({ sync }: ApplicationResource): number => (sync === 'out-of-sync' ? 0 : 1)
  return resources
    .filter(({ isHook }) => isHook !== true)
    .toSorted((a, b) => isOther(a) - isOther(b) || (fullNameOf(a) < fullNameOf(b) ? -1 : 1))
}

/** Returns the objects to sync; none for all. */
function selectedOf(
  resources: readonly ApplicationResource[],
  extent: Extent,
  chosen: readonly string[],
): readonly ApplicationResource[] {
  if (extent === 'all') return []
  return choicesOf(resources).filter((resource) =>
    extent === 'chosen' ? chosen.includes(fullNameOf(resource)) : resource.sync === 'out-of-sync',
  )
}
