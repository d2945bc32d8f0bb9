/** One step: its end, what it ran, and its output. Also the log of the build itself. */
import { useQuery } from '@tanstack/react-query'
import { describeStep, formatUsage, isFinalStep } from '@windlass/plan'
import { stepStream, type Build, type BuildStep } from '@windlass/protocol'
import { X } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { lookOfStep } from '../../looks/states.ts'
import { Status } from '../../looks/status.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Definitions } from '../../parts/definitions.tsx'
import { sh } from '../../parts/shell.ts'
import { queries } from '../../server/queries.ts'
import { paths } from '../../url/paths.ts'
import { StreamLog } from './step-log.tsx'
import styles from './step-panel.module.css'

interface StepPanelProps {
  readonly build: Build
  readonly step: BuildStep
  readonly onClose: () => void
}

export function StepPanel({ build, step, onClose }: StepPanelProps): ReactElement {
  const [part, setPart] = useState<'log' | 'details'>('log')
  const ended =
    step.status === 'success' || step.status === 'pending' || !isFinalStep(step.status) ? undefined : describeStep(step)
  return (
    <section className={styles['panel']} aria-label={`Step ${step.name}`}>
      <div className={styles['panelHead']}>
        <h2>
          <bdi title={step.title}>{step.name}</bdi>
        </h2>
        <Status look={lookOfStep(step)} />
        <span className="quiet">{formatUsage(step.usage)}</span>
        <div className={styles['buttons']}>
          <Button small tone="quiet" aria-pressed={part === 'log'} onClick={() => setPart('log')}>
            Log
          </Button>
          <Button small tone="quiet" aria-pressed={part === 'details'} onClick={() => setPart('details')}>
            Details
          </Button>
          <IconButton label="Close the step" onClick={onClose}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      </div>
      {ended !== undefined && (
        <p className={styles['cause']}>
          <bdi>{ended}</bdi>
        </p>
      )}
      {part === 'log' ? (
        <StreamLog
          build={build}
          stream={stepStream(step.name)}
          isOpen={!isFinalStep(step.status)}
          opensAtProblem={step.status === 'error'}
          nothing={nothingIn(step)}
        />
      ) : (
        <Details build={build} step={step} />
      )}
    </section>
  )
}

/** Returns why a step has no log. */
function nothingIn({ status, type }: BuildStep): string {
  if (status === 'pending') return 'The step has not started.'
  if (status === 'skipped') return 'The step did not run.'
  if (status === 'running' && type !== 'group')
    return 'No output yet. The step pulls its image, starts its services, or its commands have written nothing.'
  return type === 'group' ? 'A group has no output of its own. Choose one of its steps.' : 'The step has no output.'
}

/** What Windlass says about the build: pods, attempts and losses. */
export function BuildLogPanel({ build }: { readonly build: Build }): ReactElement {
  const [, go] = useLocation()
  return (
    <section className={styles['panel']} aria-label="Log of the build">
      <div className={styles['panelHead']}>
        <h2>Log of the build</h2>
        <div className={styles['buttons']}>
          <IconButton label="Close the log" onClick={() => go(paths.build(build.id))}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      </div>
      <StreamLog build={build} stream="system" isOpen opensAtProblem={false} nothing="The build has no output of its own." />
    </section>
  )
}

function Details({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement {
  const { data } = useQuery(queries.buildPlan(build.id))
  const planned = data?.plan?.steps.find(({ name }) => name === step.name)
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    ['Kind', planned?.type ?? planned?.kind ?? step.type],
    ['Works on', planned?.subject],
    ['Stage', step.stage],
    ['After', planned?.after.join(', ')],
    ['Condition', planned?.because],
    ['Notes', planned?.notes.join(', ')],
    ['Services', planned?.services.join(', ')],
    ['Place in the document', planned?.position === undefined ? undefined : `line ${planned.position.line}`],
    ['Image', step.image === undefined ? undefined : `${step.image.name} ${step.image.digest ?? ''}`.trim()],
    ['Exit code', step.exitCode?.toString()],
  ]
  return (
    <div className={styles['details']}>
      <Definitions
        entries={facts.map(([name, value]) => [name, value === undefined || value === '' ? '' : <bdi>{value}</bdi>])}
      />
      {[[], ['--problems'], ['--new']].map((flags) => (
        <Command key={flags.join()} text={sh`windlass logs ${build.id} --step ${step.name} ${flags}`} />
      ))}
    </div>
  )
}
