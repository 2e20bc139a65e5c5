#!/usr/bin/env bash
# Run crowdstream gate, append its summary to the run's page, and end as the action promises:
# 0 trusted, 1 not trusted, 3 cannot be told yet (0 unless FAIL_WHEN_UNSURE is true), 2 a mistake.
set -u
code=0
# Options are several words. Inputs reach this script as variables, so that none is run as code.
read -r -a minima <<<"$MINIMA"
crowdstream gate "$LABELS" --gold "$GOLD" "${minima[@]}" \
  --markdown "${GITHUB_STEP_SUMMARY:-/dev/stdout}" || code=$?
case "$code" in
  0) outcome=passed ;;
  1) outcome=failed ;;
  3) outcome=cannot_tell ;;
  *) exit "$code" ;;
esac
echo "outcome=$outcome" >>"${GITHUB_OUTPUT:-/dev/stdout}"
if [ "$code" = 3 ] && [ "${FAIL_WHEN_UNSURE:-false}" != true ]; then
  echo "::warning::crowdstream gate cannot tell yet: have more tasks checked"
  exit 0
fi
exit "$code"
