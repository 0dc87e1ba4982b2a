//! Tables for the terminal and for Markdown pages.

/// A column: its heading and the alignment of its cells.
#[derive(Debug, Clone)]
pub struct Column {
    heading: String,
    is_number: bool,
}

impl Column {
    /// Aligned to the left.
    pub fn text(heading: &str) -> Self {
        Column {
            heading: heading.into(),
            is_number: false,
        }
    }

    /// Aligned to the right.
    pub fn number(heading: &str) -> Self {
        Column {
            heading: heading.into(),
            is_number: true,
        }
    }
}

/// A table of strings with headings.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Appends a row; it has a cell for each column.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "cells in a row");
        self.rows.push(row);
    }

    /// The table in Markdown, without padding (prettier must not change it) and without a final line break.
    pub fn to_markdown(&self) -> String {
        let headings = self.columns.iter().map(|column| column.heading.clone());
        let rule = self
            .columns
            .iter()
            .map(|column| if column.is_number { "--:" } else { "---" });
        let mut lines: Vec<Vec<String>> = vec![headings.collect(), rule.map(String::from).collect()];
        lines.extend(self.rows.iter().cloned());
        let lines = lines.iter().map(|cells| format!("\n| {} |", cells.join(" | ")));
        format!("<!-- prettier-ignore -->{}", lines.collect::<String>())
    }

    /// The table for a terminal, with a final line break.
    pub fn to_text(&self) -> String {
        let widths = self.widths();
        let rule = widths.iter().map(|&width| "─".repeat(width)).collect();
        let mut lines = vec![self.heading(&widths), rule];
        lines.extend(self.rows.iter().map(|row| self.align(row, &widths)));
        let lines = lines.iter().map(|cells| format!("{}\n", cells.join("  ").trim_end()));
        lines.collect()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |(index, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| columns_of(&row[index]));
            cells.fold(columns_of(&column.heading), usize::max)
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    fn heading(&self, widths: &[usize]) -> Vec<String> {
        let headings: Vec<String> = self.columns.iter().map(|column| column.heading.clone()).collect();
        self.align(&headings, widths)
    }

    fn align(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let cells = cells.iter().zip(&self.columns).zip(widths);
        cells
            .map(|((cell, column), &width)| {
                let padding = " ".repeat(width - columns_of(cell));
                if column.is_number {
                    padding + cell
                } else {
                    format!("{cell}{padding}")
                }
            })
            .collect()
    }
}

fn columns_of(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_for_a_terminal_alone() {
        let mut table = Table::new([Column::text("Name"), Column::number("ε")]);
        table.push(["a queue".into(), "0".into()]);
        table.push(["a chain".into(), "0.005".into()]);
        assert_eq!(
            table.to_markdown(),
            "<!-- prettier-ignore -->\n| Name | ε |\n| --- | --: |\n| a queue | 0 |\n| a chain | 0.005 |"
        );
        assert_eq!(
            table.to_text(),
            "Name         ε\n───────  ─────\na queue      0\na chain  0.005\n"
        );
    }
}
