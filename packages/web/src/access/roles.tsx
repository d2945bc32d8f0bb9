/** What each role may do, from the table that the server checks. */
import { RIGHT_NAMES, RIGHTS, roleHasRight, ROLES } from '@windlass/protocol'
import { Check } from 'lucide-react'
import type { ReactElement } from 'react'
import layout from '../parts/layout.module.css'
import { Table } from '../parts/table.tsx'

const PLACES = {
  installation: 'installation',
  project: 'also in a project',
  pipeline: 'also in a project or for a pipeline',
} as const

export function Roles(): ReactElement {
  return (
    <div className={layout['stack']}>
      <p className={layout['note']}>
        Each role has the rights of the roles before it. A role is held for the installation, in a project or for one pipeline.
        The last column says where a role is enough.
      </p>
      <Table
        caption="Rights of each role"
        rows={RIGHT_NAMES}
        keyOf={(right) => right}
        columns={[
          { head: 'May', cell: (right) => RIGHTS[right].text },
          ...ROLES.map((role) => ({
            head: role,
            cell: (right: (typeof RIGHT_NAMES)[number]) =>
              roleHasRight(role, right) ? (
                <>
                  <Check size={16} aria-hidden />
                  <span className="unseen">yes</span>
                </>
              ) : (
                <span className="unseen">no</span>
              ),
          })),
          { head: 'Held', cell: (right) => PLACES[RIGHTS[right].at] },
        ]}
      />
    </div>
  )
}
