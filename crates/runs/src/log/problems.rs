//! Problems in the order of their lines, all counted and as many kept as anybody reads.

use tracer_format::Problem;

/// Maximum number of problems that are kept for a run; more are counted.
const MAX_PROBLEMS: usize = 10_000;

/// Problems with the numbers of their lines; 0 for what concerns the whole file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Problems {
    kept: Vec<(u64, Problem)>,
    more: u64,
}

impl Problems {
    /// Adds a problem; callers take the lines in their order.
    pub(crate) fn push(&mut self, line: u64, problem: Problem) {
        self.push_with(line, || problem);
    }

    /// Adds a problem that is made only when it is kept.
    pub(crate) fn push_with(&mut self, line: u64, problem: impl FnOnce() -> Problem) {
        if self.kept.len() < MAX_PROBLEMS {
            self.kept.push((line, problem()));
        } else {
            self.more += 1;
        }
    }

    /// Adds problems of any lines: on one line, these follow the existing ones.
    pub(crate) fn merge(&mut self, others: Self) {
        self.more += others.more;
        self.kept.extend(others.kept);
        self.kept.sort_by_key(|(line, _)| *line);
        self.more += self.kept.len().saturating_sub(MAX_PROBLEMS) as u64;
        self.kept.truncate(MAX_PROBLEMS);
    }

    /// The problems that are kept, and the number of further ones.
    pub(crate) fn into_parts(self) -> (impl Iterator<Item = Problem>, u64) {
        (self.kept.into_iter().map(|(_, problem)| problem), self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracer_format::ProblemCode;

    fn problem(text: &str) -> Problem {
        Problem::new(ProblemCode::InvalidValue, text, "")
    }

    fn parts(problems: Problems) -> (Vec<String>, u64) {
        let (kept, more) = problems.into_parts();
        (kept.map(|problem| problem.location).collect(), more)
    }

    #[test]
    fn problems_are_merged_by_line_and_behind_those_of_the_same_line() {
        let mut fields = Problems::default();
        let mut structure = Problems::default();
        for line in [1, 3] {
            fields.push(line, problem(&format!("field {line}")));
            structure.push(line, problem(&format!("structure {line}")));
        }
        structure.push(0, problem("file"));
        fields.merge(structure);
        let expected = ["file", "field 1", "structure 1", "field 3", "structure 3"];
        assert_eq!(parts(fields), (expected.map(str::to_owned).into(), 0));
    }

    #[test]
    fn past_the_limit_problems_are_counted() {
        let count = MAX_PROBLEMS + 7;
        let many = || {
            let mut problems = Problems::default();
            (0..count).for_each(|line| problems.push(line as u64 * 2, problem("x")));
            problems
        };
        assert_eq!(parts(many()).1, 7);
        let mut merged = many();
        merged.merge(many());
        let (kept, more) = parts(merged);
        assert_eq!((kept.len(), more), (MAX_PROBLEMS, (MAX_PROBLEMS + 14) as u64));
    }
}
