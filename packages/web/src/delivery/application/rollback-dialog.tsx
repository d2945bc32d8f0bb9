/** Asks before an earlier deployment is applied again. */
import type { ApplicationDeployment } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Command } from '../../parts/copy.tsx'
import { Check } from '../../parts/forms/choice.tsx'
import { Question } from '../../parts/forms/question.tsx'
import { sh } from '../../parts/shell.ts'
import { When } from '../../parts/when.tsx'
import { delivery } from '../queries.ts'
import { shortRevision } from '../sources.ts'
import { showLive, type LiveApplication } from './use-live.ts'

interface RollbackProps {
  readonly live: LiveApplication
  readonly deployment: ApplicationDeployment
  readonly off: string | undefined
  readonly onClose: () => void
}

export function RollbackDialog({ live: { id: application, reported }, deployment, off, onClose }: RollbackProps): ReactElement {
  const [prune, setPrune] = useState(false)
  const [dryRun, setDryRun] = useState(false)
  const { id, revisions, at } = deployment
  const flags = [...(prune ? ['--prune'] : []), ...(dryRun ? ['--dry-run'] : [])]
  return (
    <Question
      title={`Roll back to deployment ${id}?`}
      verb={dryRun ? 'Check the rollback' : 'Roll back'}
      off={off}
      onDo={async () => showLive(application, await delivery.applications.rollBack(application, { id, prune, dryRun }))}
      onClose={onClose}
    >
      <p>
        Argo CD applies revision <bdi className="mono">{revisions.map((one) => shortRevision(one)).join(', ')}</bdi>
        {at !== undefined && (
          <>
            , deployed <When at={at} />,
          </>
        )}{' '}
        again. What Git says does not change, so the application is out of sync afterwards.
      </p>
      <Check label="Prune: delete what this deployment did not have" isOn={prune} onChange={setPrune} />
      <Check label="Dry run: let Argo CD check, and change nothing" isOn={dryRun} onChange={setDryRun} />
      <Command text={sh`windlass gitops app rollback ${reported.runtime} ${reported.name} --id ${id} ${flags} --wait`} />
    </Question>
  )
}
