/** Breakpoints on the tree of steps: set while the build runs, or for another run of it. */
import { useMutation } from '@tanstack/react-query'
import { isFinalBuild, plural, toTree, type Branch } from '@windlass/plan'
import type { Build, BuildStep, DebugChange, DebugPhase, DebugSettings } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useRestart } from '../build/restart.ts'
import { lookOfStep } from '../looks/states.ts'
import { StatusMark } from '../looks/status.tsx'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Problem } from '../parts/problem.tsx'
import { WindowedList } from '../parts/windowed-list.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import { chosenOf, keyOf, PHASES, toFlags, toSteps, whyNotStop, type Chosen } from './breakpoints.ts'
import styles from './debug.module.css'
import { debugQuery } from './queries.ts'

const ROW_PX = 34

interface BreakpointsProps {
  readonly build: Build
  readonly settings: DebugSettings | undefined
}

export function Breakpoints({ build, settings }: BreakpointsProps): ReactElement {
  const isFinal = isFinalBuild(build.status)
  const [added, setAdded] = useState<Chosen>(new Set())
  const [onFailure, setOnFailure] = useState(false)
  const forbidden = useOff('debug-builds')
  const restart = useRestart(build)
  const change = useMutation({
    mutationFn: (input: DebugChange) => client.debug.change(build.id, input),
    onSuccess: (debug) => {
      queryClient.setQueryData(debugQuery(build.id).queryKey, debug)
      setAdded(new Set())
      setOnFailure(false)
    },
  })
  // Breakpoints of a build that has ended are those of that run; another run begins without them.
  const before = isFinal ? undefined : settings
  const had = chosenOf(before)
  const count = added.size + (onFailure ? 1 : 0)
  const nothing = count === 0 ? 'Choose a breakpoint first.' : undefined
  const debug = { ...(added.size > 0 && { steps: toSteps(added) }), ...(onFailure && { onFailure }) }
  const flags = toFlags(added, onFailure)
  const rows = toTree(build.steps ?? [])
  if (rows.length === 0) return <Empty>The build has no steps{isFinal ? '' : ' yet'}, so there is nothing to stop at.</Empty>
  return (
    <section className={styles['breakpoints']} aria-label="Breakpoints">
      <h2>Breakpoints</h2>
      <p className="quiet">{isFinal ? 'The build has ended. Another run can stop at these places.' : sayState(before)}</p>
      <label className={styles['all']}>
        <input
          type="checkbox"
          checked={onFailure || before?.onFailure === true}
          disabled={before?.onFailure === true}
          onChange={(event) => setOnFailure(event.target.checked)}
        />
        Hold every step that fails
      </label>
      <div className={styles['table']}>
        <div className={styles['head']} aria-hidden>
          <span>Step</span>
          {PHASES.map(([phase, label]) => (
            <span key={phase}>{label}</span>
          ))}
        </div>
        <WindowedList
          label="Breakpoints of the steps"
          rows={rows}
          rowHeight={ROW_PX}
          keyOf={(row) => row.step.name}
          render={(row) => (
            <Row
              row={row}
              isFinal={isFinal}
              had={had}
              added={added}
              onToggle={(key) => setAdded(added.symmetricDifference(new Set([key])))}
            />
          )}
        />
      </div>
      <div className={styles['buttons']}>
        {isFinal ? (
          <Button
            tone="primary"
            off={restart.off ?? forbidden ?? nothing}
            isBusy={restart.isBusy}
            onClick={() => restart.run({ debug }, (id) => paths.debug(id))}
          >
            Restart with {plural(count, 'breakpoint')}
          </Button>
        ) : (
          <>
            <Button tone="primary" off={forbidden ?? nothing} isBusy={change.isPending} onClick={() => change.mutate(debug)}>
              Set {plural(count, 'breakpoint')}
            </Button>
            {settings !== undefined && (
              <Button tone="danger" off={forbidden} isBusy={change.isPending} onClick={() => change.mutate({ off: true })}>
                Turn debugging off
              </Button>
            )}
          </>
        )}
      </div>
      {change.error !== null && <Problem error={change.error} />}
      <Command text={isFinal ? `windlass restart ${build.id}${flags}` : `windlass debug ${build.id}${flags}`} />
    </section>
  )
}

function sayState(settings: DebugSettings | undefined): string {
  return settings === undefined
    ? 'Debugging is off: the build stops nowhere.'
    : 'The build stops at the places that are checked, and at those of its document. Turning debugging off removes all of them, and held steps continue.'
}

interface RowProps {
  readonly row: Branch<BuildStep>
  readonly isFinal: boolean
  readonly had: Chosen
  readonly added: Chosen
  readonly onToggle: (key: string) => void
}

function Row({ row: { step, depth, label }, isFinal, had, added, onToggle }: RowProps): ReactElement {
  return (
    <div className={styles['row']}>
      <div className={styles['name']} style={{ paddingLeft: depth * 16 }}>
        <StatusMark look={lookOfStep(step)} />
        <bdi title={step.name}>{label}</bdi>
      </div>
      {step.type !== 'group' &&
        PHASES.map(([phase, name]) => (
          <Box
            key={phase}
            label={`${step.name}: ${name.toLowerCase()}`}
            off={whyNotStop(step, phase, isFinal)}
            isSet={had.has(keyOf(step.name, phase))}
            isAdded={added.has(keyOf(step.name, phase))}
            onToggle={() => onToggle(keyOf(step.name, phase))}
            phase={phase}
          />
        ))}
    </div>
  )
}

interface BoxProps {
  readonly label: string
  readonly phase: DebugPhase
  readonly off: string | undefined
  /** The build stops there already. */
  readonly isSet: boolean
  readonly isAdded: boolean
  readonly onToggle: () => void
}

function Box({ label, phase, off, isSet, isAdded, onToggle }: BoxProps): ReactElement {
  return (
    <label className={styles['box']} title={isSet ? 'The build stops there.' : off}>
      <input
        type="checkbox"
        aria-label={label}
        data-phase={phase}
        checked={isSet || isAdded}
        disabled={isSet || off !== undefined}
        onChange={onToggle}
      />
    </label>
  )
}
